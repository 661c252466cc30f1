import type { GuardedQuery } from '../../access/contract.js';
import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import {
  canonicalsOf,
  hasIdentifier,
  hasUrl,
  isFoundByIdentifier,
  isFoundByUrl,
  isIdentifiedBy,
} from '../../search/business-keys.js';
import { and, or, type Criteria } from '../../search/criteria/criteria.js';
import type { ReferenceTest } from '../../search/criteria/value-test.js';
import { valueTraits } from '../../search/index/value-traits.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchPage } from '../../store/search-query.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { call, type Run } from './run.js';
import { identifierKey, type ResolvableReference } from './resolvable-reference.js';

type CanonicalReference = ResolvableReference & { readonly kind: 'canonical' };
type IdentifierReference = ResolvableReference & { readonly kind: 'identifier' };

/**
 * Finds the targets of canonicals by `url` or `url|version`: one search per possible type. If several resources have
 * the URL and no version is given, the most recently changed one.
 *
 * See https://hl7.org/fhir/R4/references.html#canonical.
 */
export async function findByCanonical(
  references: readonly ResolvableReference[],
  targets: readonly string[] | undefined,
  type: string | undefined,
  run: Run,
): Promise<ReadonlyMap<string, AnyResource>> {
  const wanted = references.filter((reference): reference is CanonicalReference => reference.kind === 'canonical');
  const found = new Map<string, AnyResource>();
  if (wanted.length === 0) return found;
  const types = (type === undefined ? (targets ?? run.options.store.model.resourceTypes) : [type]).filter((one) =>
    isFoundByUrl(run.options.store.model, one),
  );
  const urls = new Set(wanted.map(({ url }) => url));
  const criteria = or(Array.from(urls, hasUrl));
  const rows = await searchEach(types, () => criteria, run);
  rows.sort((one, other) => (one.lastUpdated < other.lastUpdated ? -1 : 1));
  for (const { resource } of rows) {
    for (const canonical of canonicalsOf(resource)) found.set(canonical, resource);
  }
  return found;
}

/**
 * Finds the targets of logical references by `identifier`, if the reference or the query gives the type and exactly one
 * resource matches; one search per type.
 *
 * See https://hl7.org/fhir/R4/references.html#logical.
 */
export async function findByIdentifier(
  references: readonly ResolvableReference[],
  type: string | undefined,
  run: Run,
): Promise<ReadonlyMap<string, AnyResource>> {
  const found = new Map<string, AnyResource>();
  if (run.options.resolveIdentifiers !== true) return found;
  const wanted = references.filter((reference): reference is IdentifierReference => reference.kind === 'identifier');
  const byType = Map.groupBy(wanted, (reference) => reference.type ?? type ?? '');
  const types = [...byType.keys()].filter(
    (name) => run.options.store.model.isResourceType(name) && isFoundByIdentifier(run.options.store.model, name),
  );
  const rows = await searchEach(types, (name) => or(byType.get(name)!.map(hasIdentifier)), run);
  for (const reference of wanted) {
    const matching = rows.filter(
      ({ resource }) => resource.resourceType === (reference.type ?? type) && isIdentifiedBy(resource, reference),
    );
    if (matching.length === 1) found.set(identifierKey(reference), matching[0]!.resource);
  }
  return found;
}

/**
 * The resources whose parameter leads to each target: by reference in one call for all; by canonical, with the version of
 * the target or without a version, in one read for the URLs and a search for each target with a URL.
 */
export async function searchReferrers(
  query: GuardedQuery,
  parameter: string,
  targets: readonly ReferenceTarget[],
  run: Run,
): Promise<readonly SearchPage[]> {
  const { store } = run.options;
  const { options } = run.deadline;
  const search = (): Promise<readonly SearchPage[]> =>
    store.searchByReference(query, parameter, targets, { ...options, maxResources: run.resourcesLeft });
  const definition = store.model.searchParameter(query.type, parameter);
  const isCanonical = definition !== undefined && valueTraits(store.model, query.type, definition).canonicals;
  const named = isCanonical ? targets.filter(({ type }) => mayBeNamed(store.model, type, definition)) : [];
  if (named.length === 0) return call(run, search, targets.length);
  const keys = named.map(({ type, id }) => ({ type, id, elements: CANONICAL_ELEMENTS }));
  const read = await call(run, () => store.read(keys, options));
  const canonicals = new Map(
    named.map((target, at) => {
      const result = read[at]!;
      return [target, result.status === 'found' ? canonicalsOf(result.resource) : []] as const;
    }),
  );
  return Promise.all(
    targets.map(async (target) => {
      const { type, id } = target;
      const tests: readonly ReferenceTest[] = [
        { kind: 'reference', types: [type], id },
        ...(canonicals.get(target) ?? []).map((url): ReferenceTest => ({ kind: 'reference', url, version: 'exact' })),
      ];
      const refers = or(tests.map((test): Criteria => ({ kind: 'match', parameter, test })));
      return call(run, () => store.search({ ...query, criteria: and([query.criteria, refers]) }, options));
    }),
  );
}

const CANONICAL_ELEMENTS = ['url', 'version'] as const;

function mayBeNamed(model: FhirModel, type: string, { targets }: SearchParameterDefinition): boolean {
  return isFoundByUrl(model, type) && targets?.includes(type) !== false;
}

async function searchEach(
  types: readonly string[],
  criteriaFor: (type: string) => Criteria,
  run: Run,
): Promise<StoredResource[]> {
  const { store, limits } = run.options;
  const pages = await Promise.all(
    types.map(async (type) =>
      call(run, () =>
        store.search({ type, criteria: criteriaFor(type), limit: limits.listSize }, run.deadline.options),
      ),
    ),
  );
  return pages.flatMap(({ matches }) => matches);
}
