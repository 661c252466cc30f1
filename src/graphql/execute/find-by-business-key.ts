import type { AnyResource } from '../../fhir/resource.js';
import {
  canonicalsOf,
  hasIdentifier,
  hasUrl,
  isFoundByIdentifier,
  isFoundByUrl,
  isIdentifiedBy,
} from '../../search/business-keys.js';
import { or, type Criteria } from '../../search/criteria/criteria.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { call } from './call.js';
import { identifierKey, type ResolvableReference } from './resolvable-reference.js';
import type { Run } from './run.js';

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
