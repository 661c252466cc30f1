import { FhirError } from '../../fhir/error.js';
import { elementsOf, isJsonObject, type AnyResource } from '../../fhir/resource.js';
import { getOrCreate } from '../../platform/collections.js';
import {
  canonicalsOf,
  hasIdentifier,
  hasUrl,
  type Identifier,
  isFoundByIdentifier,
  isFoundByUrl,
  isIdentifiedBy,
} from '../../search/business-keys.js';
import { type Criteria, or } from '../../search/criteria/criteria.js';
import type { StoredResource } from '../../store/stored-resource.js';
import type { RepositorySession } from '../repository.js';

/** A canonical: see https://hl7.org/fhir/R4/references.html#canonical. */
export interface CanonicalTarget {
  /** `url` or `url|version`. */
  readonly text: string;
  /** The types that it may lead to. */
  readonly types: readonly string[];
}

/** A reference by identifier alone: see https://hl7.org/fhir/R4/references.html#logical. */
export interface LogicalTarget extends Identifier {
  readonly types: readonly string[];
}

/**
 * The resources that canonicals lead to: the named version, or the one that changed last. One search per type and 100
 * URLs.
 *
 * @throws FhirError `too-costly` - more than `most` resources have these URLs
 */
export async function findCanonicals(
  targets: readonly CanonicalTarget[],
  most: number,
  session: RepositorySession,
): Promise<readonly AnyResource[]> {
  const { model } = session.store;
  const urls = new Map<string, Set<string>>();
  for (const { text, types } of targets) {
    for (const type of types)
      if (isFoundByUrl(model, type)) getOrCreate(urls, type, () => new Set<string>()).add(urlOf(text));
  }
  const rows = await searchAll(urls, hasUrl, most, session);
  rows.sort((one, other) => (one.lastUpdated < other.lastUpdated ? -1 : 1));
  const found = new Map<string, AnyResource>();
  for (const { resource } of rows) {
    for (const canonical of canonicalsOf(resource)) found.set(`${resource.resourceType} ${canonical}`, resource);
  }
  return targets.flatMap(({ text, types }) => types.flatMap((type) => found.get(`${type} ${text}`) ?? []));
}

/**
 * The resources that logical references lead to, where exactly one has the identifier. One search per type and 100
 * identifiers.
 *
 * @throws FhirError `too-costly` - more than `most` resources have these identifiers
 */
export async function findIdentified(
  targets: readonly LogicalTarget[],
  most: number,
  session: RepositorySession,
): Promise<readonly AnyResource[]> {
  const { model } = session.store;
  const wanted = new Map<string, Set<string>>();
  for (const { system, value, types } of targets) {
    for (const type of types) {
      if (isFoundByIdentifier(model, type))
        getOrCreate(wanted, type, () => new Set<string>()).add(tokenKey(system, value));
    }
  }
  const rows = await searchAll(wanted, (key) => hasIdentifier(identifierOf(key)), most, session);
  return targets.flatMap((target) => {
    const matching = rows.filter(
      ({ resource }) => target.types.includes(resource.resourceType) && isIdentifiedBy(resource, target),
    );
    return matching.length === 1 ? [matching[0]!.resource] : [];
  });
}

/** The logical references of a resource: those with an identifier and without a literal reference. */
export function logicalReferences(
  resource: AnyResource,
): readonly (Omit<LogicalTarget, 'types'> & { readonly type: string | undefined })[] {
  const found: (Omit<LogicalTarget, 'types'> & { readonly type: string | undefined })[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    if (!isJsonObject(node)) return;
    const { identifier, reference, type } = node;
    if (isJsonObject(identifier) && typeof identifier['value'] === 'string' && reference === undefined) {
      const { system, value } = identifier as { readonly system?: unknown; readonly value: string };
      found.push({
        value,
        system: typeof system === 'string' ? system : undefined,
        type: typeof type === 'string' ? type : undefined,
      });
    }
    Object.values(node).forEach(visit);
  };
  visit(elementsOf(resource));
  return found;
}

/** A canonical without its version. */
function urlOf(canonical: string): string {
  const bar = canonical.lastIndexOf('|');
  return bar < 0 ? canonical : canonical.slice(0, bar);
}

async function searchAll(
  valuesByType: ReadonlyMap<string, ReadonlySet<string>>,
  criteriaOf: (value: string) => Criteria,
  most: number,
  { store, options }: RepositorySession,
): Promise<StoredResource[]> {
  const rows: StoredResource[] = [];
  for (const [type, set] of valuesByType) {
    const values = [...set];
    for (let start = 0; start < values.length; start += VALUES_AT_ONCE) {
      const criteria = or(values.slice(start, start + VALUES_AT_ONCE).map(criteriaOf));
      const { matches } = await store.search({ type, criteria, limit: most - rows.length + 1 }, options);
      rows.push(...matches);
      if (rows.length > most) throw tooManyIncluded(most);
    }
  }
  return rows;
}

const VALUES_AT_ONCE = 100;

/** The refusal of a page with more included resources. */
export function tooManyIncluded(most: number): FhirError {
  return new FhirError(
    'too-costly',
    `More than ${most} resources would be included in this page; ask for a smaller page (_count) or fewer _include and _revinclude`,
    { details: { max: most } },
  );
}

function tokenKey(system: string | undefined, value: string): string {
  return JSON.stringify([system ?? null, value]);
}

function identifierOf(key: string): Identifier {
  const [system, value] = JSON.parse(key) as [string | null, string];
  return { system: system ?? undefined, value };
}
