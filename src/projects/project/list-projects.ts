import type { Bundle, Project } from '@medplum/fhirtypes';
import { isAboveProjects } from '../../access/fields/administrative-types.js';
import { FhirError } from '../../fhir/error.js';
import { MAX_COUNT, SearchPaging, withoutCursor } from '../../interactions/pages.js';
import type { Stored } from '../../fhir/resource.js';
import { childrenOf, type Criteria } from '../../search/criteria/criteria.js';
import { parseSearch, type SearchInput, withoutEmpty } from '../../search/parse/parse-search.js';
import { parameterNames, searchPairs } from '../../search/parse/search-pairs.js';
import { ShortPage } from '../../store/text-budget.js';
import { openOperator } from '../session/operator.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { copyStored } from '../session/project-session.js';

/**
 * Lists the projects of the store, inactive ones too: a FHIR search on Project, such as `name=clinic` or
 * `name:contains=north`.
 *
 * A page has up to 1000 projects (`_count`), and links to the pages beside it; `_offset` leads to any page. `total` is
 * always present. Without `_sort`, the order is by id. The answer never contains secrets.
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
    const asked = withoutCursor(pairs).map(([...pair]) => pair);
    const request = parseSearch(model, 'Project', new URLSearchParams(asked));
    assertAboveProjects(request.criteria);
    const { criteria, sort, count = MAX_COUNT, offset, summaryCount = false } = request;
    const guard = session.guardOf();
    const paging = new SearchPaging(
      { type: 'Project', pairs, count, offset, sort, countOnly: summaryCount },
      session.caller,
    );
    const shortens = new ShortPage();
    const search = { type: 'Project', criteria, sort, ...paging.bounds, total: true, shortens };
    const page = paging.cut(await guard.search(search, session.options), shortens);
    const entry = page.matches.map(({ resource }) => ({
      resource: copyStored<Project>(resource, session),
      search: { mode: 'match' as const },
    }));
    facts.results = entry.length;
    return {
      resourceType: 'Bundle',
      type: 'searchset',
      total: page.total ?? 0,
      link: paging.links(page, model),
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
