import type { Bundle, Project } from '@medplum/fhirtypes';
import { serverCaller } from '../../access/caller.js';
import { guardStore } from '../../access/guarded-store.js';
import { FhirError } from '../../fhir/error.js';
import { MAX_COUNT, pageLinks, pageOf, searchAddress } from '../../fhir/page-links.js';
import type { Stored } from '../../fhir/stored.js';
import type { Criteria } from '../../search/criteria/criteria.js';
import { childrenOf } from '../../search/criteria/children-of.js';
import { isAboveProjects } from '../../access/fields/administrative-types.js';
import { parseSearch, type SearchInput, withoutEmpty } from '../../search/parse/parse-search.js';
import { parameterNames, searchPairs } from '../../search/parse/search-pairs.js';
import { openOperator } from '../session/operator.js';
import type { ProjectContext } from '../session/project-context.js';
import { projectOperation } from '../session/project-operation.js';
import { copyStored } from '../session/project-session.js';

/**
 * Lists the projects of the store, inactive ones too: a FHIR search on Project, such as `name=clinic` or
 * `name:contains=north`.
 *
 * `_count` and `_offset` page through them, up to 1000 at once; `total` is always present. Without `_sort`, the order
 * is by id. The answer never contains secrets.
 *
 * For super administrators and `serverCaller()`. A super administrator whose membership names access policies needs a rule
 * without conditions that grants `search` on Project.
 *
 * @param query a query string, parameters, or an object; left out: all projects
 * @throws FhirError `forbidden` - the caller may not list projects
 * @throws FhirError `invalid`, `unsupported`, `too-costly` - the search
 *
 * @example
 * const { entry = [] } = await listProjects('name=clinic&_count=20', { store, caller });
 */
export function listProjects(
  query: SearchInput | undefined,
  context: ProjectContext,
): Promise<Bundle<Stored<Project>>> {
  return projectOperation(context, 'list-projects', async (facts, bounded) => {
    const session = await openOperator(bounded, 'Project.search', 'list projects');
    facts.targets = [{ type: 'Project' }];
    const { model } = bounded.store;
    const pairs = withoutEmpty(model, 'Project', query === undefined ? [] : searchPairs(query));
    facts.parameters = parameterNames(
      model,
      'Project',
      pairs.map(([name]) => name),
    );
    const request = parseSearch(model, 'Project', new URLSearchParams(pairs.map(([...pair]) => pair)));
    assertAboveProjects(request.criteria);
    const page = pageOf({ count: request.count ?? MAX_COUNT, offset: request.offset });
    const isCount = request.summaryCount === true || page.count === 0;
    const found = await guardStore(session.store, serverCaller()).search(
      {
        type: 'Project',
        criteria: request.criteria,
        sort: request.sort,
        offset: page.offset,
        limit: isCount ? 0 : page.count,
        total: true,
      },
      session.options,
    );
    const total = found.total ?? 0;
    const entry = found.matches.map(({ resource }) => ({
      resource: copyStored<Project>(resource, session),
      search: { mode: 'match' as const },
    }));
    facts.results = entry.length;
    return {
      resourceType: 'Bundle',
      type: 'searchset',
      total,
      link: pageLinks(searchAddress('Project', pairs), page, !isCount && page.offset + entry.length < total),
      ...(entry.length === 0 ? {} : { entry }),
    };
  });
}

/**
 * Only Projects and Users are searched; resources inside projects are not.
 *
 * @throws FhirError `invalid`
 */
function assertAboveProjects(criteria: Criteria): void {
  if ((criteria.kind === 'chain' || criteria.kind === 'has') && !isAboveProjects(criteria.type)) {
    throw new FhirError('invalid', `A search for projects cannot lead to ${criteria.type}`);
  }
  childrenOf(criteria).forEach(assertAboveProjects);
}
