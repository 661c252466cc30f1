import type { GuardedKey } from '../access/contract.js';
import { Container } from '../fhir/container.js';
import { FhirError } from '../fhir/error.js';
import { keyText } from '../fhir/reference.js';
import { elementsOf, type AnyResource } from '../fhir/resource.js';
import { indexEntries } from '../search/index/index-resource.js';
import { walkPlaces } from '../search/index/places.js';
import { valueTraits } from '../search/index/value-traits.js';
import type { RepositorySession } from './repository.js';
import {
  type CanonicalTarget,
  findCanonicals,
  findIdentified,
  logicalReferences,
  type LogicalTarget,
} from './search/indirect-references.js';

/** The targets of a resource: by Reference, by canonical, by identifier if the host follows those, and Binaries. */
interface Targets {
  readonly keys: readonly GuardedKey[];
  readonly canonicals: readonly CanonicalTarget[];
  readonly logical: readonly LogicalTarget[];
}

/** Most resources that a page may contain in addition to its matches. */
const MAX_REFERENCED = 1000;

/** The number of the first resources that together refer to at most {@link MAX_REFERENCED} others. */
export function countAffordable(targets: readonly Targets[]): number {
  const names = new Set<string>();
  for (const [index, one] of targets.entries()) {
    for (const name of namesOf(one)) names.add(name);
    if (names.size > MAX_REFERENCED) return index;
  }
  return targets.length;
}

/** The resources that the caller may see among these, each once. One read, and one search per type of canonicals. */
export async function readTargets(
  targets: readonly Targets[],
  session: RepositorySession,
): Promise<readonly AnyResource[]> {
  const keys = new Map(targets.flatMap((one) => one.keys.map((key) => [keyText(key), key])));
  const read = keys.size === 0 ? [] : await session.store.read([...keys.values()], session.options);
  const canonicals = targets.flatMap((one) => one.canonicals);
  const logical = targets.flatMap((one) => one.logical);
  const found = [
    ...read.flatMap((one) => (one.status === 'found' ? [one.resource] : [])),
    ...(await findCanonicals(canonicals, MAX_REFERENCED, session)),
    ...(await findIdentified(logical, MAX_REFERENCED, session)),
  ];
  return [...new Map(found.map((one) => [keyText({ type: one.resourceType, id: one.id! }), one])).values()];
}

/** @throws FhirError `too-costly` - of one resource, which no smaller page can help */
export function assertAffordableAlone({ resourceType, id }: AnyResource, targets: Targets): void {
  if (namesOf(targets).length <= MAX_REFERENCED) return;
  throw new FhirError(
    'too-costly',
    `${resourceType}/${id!} refers to more than ${MAX_REFERENCED} resources; leave its type out by "_type"`,
  );
}

/** @param resource as the caller sees it: hidden references lead nowhere */
export function targetsOf(resource: AnyResource, session: RepositorySession): Targets {
  return {
    keys: literalTargets(resource, session),
    canonicals: canonicalTargets(resource, session),
    logical: session.resolveIdentifiers === true ? typedLogical(resource) : [],
  };
}

function namesOf({ keys, canonicals, logical }: Targets): string[] {
  return [...keys.map(keyText), ...canonicals.map(({ text }) => text), ...logical.map((one) => JSON.stringify(one))];
}

/** References anywhere, and attachments whose content is a Binary. */
function literalTargets(resource: AnyResource, { store, baseUrl }: RepositorySession): readonly GuardedKey[] {
  const keys = new Map<string, GuardedKey>();
  const add = (text: unknown, container: Container, only?: string): void => {
    const parsed = typeof text === 'string' ? container.resolve(text, baseUrl) : undefined;
    if (parsed?.kind !== 'local' || !store.model.isResourceType(parsed.type)) return;
    const key = { type: parsed.type, id: parsed.id };
    if (only === undefined || key.type === only) keys.set(keyText(key), key);
  };
  // `meta` names the author, who is not part of the record.
  const { meta: _, ...content } = elementsOf(resource);
  walkPlaces(content, Container.of(resource), (node, container) => {
    add(node['reference'], container);
    if ('contentType' in node) add(node['url'], container, 'Binary');
  });
  return [...keys.values()];
}

function canonicalTargets(resource: AnyResource, { store: { model } }: RepositorySession): readonly CanonicalTarget[] {
  const { resourceType } = resource;
  return indexEntries(model, resource).flatMap(({ parameter, group, value }) => {
    if (group !== 0 || value.kind !== 'reference' || !('url' in value)) return [];
    const definition = model.searchParameter(resourceType, parameter);
    if (definition === undefined || !valueTraits(model, resourceType, definition).canonicals) return [];
    return [{ text: value.url, types: definition.targets ?? [] }];
  });
}

/** Logical references with a known type only. */
function typedLogical(resource: AnyResource): readonly LogicalTarget[] {
  return logicalReferences(resource).flatMap(({ system, value, type }) =>
    type === undefined ? [] : [{ system, value, types: [type] }],
  );
}
