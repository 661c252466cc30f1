import type { GuardedKey, GuardedQuery } from '../../access/contract.js';
import { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceTo } from '../../fhir/reference.js';
import { type AnyResource, elementsOf, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { shapeItems } from './item-list.js';
import { knownTypeOf, projectContained, projectResource } from './project.js';
import { elementsByType } from './read-elements.js';
import { canonicalKey, identifierKey, type ResolvableReference } from './resolvable-reference.js';
import { call, type ReferenceHole, type Run, type Waiting } from './run.js';
import { evaluate, evaluateSingle } from '../plan/arguments.js';
import type { ReferenceEdge } from '../plan/plan.js';
import { absence } from '../../interactions/interaction-session.js';
import { inOneGo } from '../../platform/pace.js';
import {
  canonicalsOf,
  hasIdentifier,
  hasUrl,
  isFoundByIdentifier,
  isFoundByUrl,
  isIdentifiedBy,
} from '../../search/business-keys.js';
import { and, type Criteria, or } from '../../search/criteria/criteria.js';
import type { ReferenceTest } from '../../search/criteria/value-test.js';
import { valueTraits } from '../../search/index/value-traits.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchPage } from '../../store/search-query.js';
import type { ReadResult, StoredResource } from '../../store/stored-resource.js';

/** The target of a reference: a resource of its own, or one inside another. */
interface Resolved {
  readonly type: string;
  readonly source: JsonObject;
  readonly container: Container;
}

/** Null for a reference without a target, and for a target of another type, which is not an error. */
type Found = Resolved | FhirError | null;

/**
 * Fills `resource` fields of the same type: one read for all local references, and separate lookups for the other
 * kinds. See https://hl7.org/fhir/R4/graphql.html#references.
 */
export async function fillReferences(
  waiting: readonly Waiting<ReferenceEdge, ReferenceHole>[],
  run: Run,
): Promise<void> {
  const { variables } = run.options;
  const edges = waiting.map(({ edge }) => edge);
  const type = evaluateSingle('type', edges[0]!.type, variables) as string | undefined;
  const find = await findAll(
    edges,
    waiting.length === 1 ? waiting[0]!.holes : waiting.flatMap(({ holes }) => holes),
    type,
    run,
  );
  let position = 0;
  for (const { edge, holes } of waiting) {
    const optional = evaluate(edge.optional, variables) === true;
    for (const hole of holes) {
      const at = position;
      position += 1;
      try {
        if (run.isLookDue && run.pace.isSpent) await run.pace.next();
        const found = find(hole, at);
        if (found instanceof FhirError) {
          if (!optional) throw found;
        } else if (found !== null && (type === undefined || type === found.type)) {
          fillReference(edge, hole, found, run);
        }
      } catch (error) {
        run.fail(hole.out, edge, error);
      }
    }
  }
}

function fillReference(
  edge: ReferenceEdge,
  { out }: ReferenceHole,
  { type, source, container }: Resolved,
  run: Run,
): void {
  // Contained resources cost no store call, but they can reference one another and multiply without end.
  const selection = run.options.selections.forType(edge.selections, type);
  run.spendRows(1, selection);
  inOneGo(shapeItems(edge, type, [source], out, container.resource, run));
  out[edge.key] =
    source === elementsOf(container.root)
      ? projectResource(selection, container.root, run)
      : projectContained(selection, source, container, run);
}

/** Loads all targets, with one parallel call per kind of reference. @returns finds that of a hole at its position */
async function findAll(
  edges: readonly ReferenceEdge[],
  holes: readonly ReferenceHole[],
  type: string | undefined,
  run: Run,
): Promise<(hole: ReferenceHole, position: number) => Found> {
  const references = holes.map(({ reference }) => reference);
  const [local, canonical, identified, foreign] = await Promise.all([
    readLocal(references, edges, type, run),
    findByCanonical(references, edges[0]!.targets, type, run),
    findByIdentifier(references, type, run),
    resolveForeign(references, run),
  ]);
  return ({ reference }, position) => {
    switch (reference.kind) {
      case 'local': {
        const result = local(position);
        if (result === undefined) return null;
        if (result.status !== 'found') return absence(result, { type: reference.type, id: reference.id });
        return itself(reference.version === undefined ? result.resource : versionOf(result.resource, run), run);
      }
      case 'canonical':
        return itselfOr(canonical.get(canonicalKey(reference)), run, 'No resource with this canonical URL was found');
      case 'identifier':
        if (run.options.resolveIdentifiers !== true) return null;
        return itselfOr(
          identified.get(identifierKey(reference)),
          run,
          'No single resource with this identifier was found',
        );
      case 'inside':
        return inside(run.options.store.model, reference);
      case 'nowhere':
        return new FhirError('not-found', NOWHERE[reference.reason]);
      default:
        return itselfOr(foreign.get(textOf(reference)), run, UNRESOLVED[reference.kind]);
    }
  };
}

const UNRESOLVED = {
  urn: 'The reference is a URN, which leads to no resource of this service',
  foreign: 'The reference leads outside this service',
} as const;

const NOWHERE = {
  contained: 'The reference names a contained resource that is not there',
  base: 'The reference is relative, and the "fullUrl" of its entry names no server, so it has no meaning',
  ambiguous: 'Several entries of the Bundle have the URL of the reference',
} as const;

/**
 * One read for all; a reference to a type other than the requested one is null, whether or not it resolves.
 *
 * @returns gives the result for the reference at a position
 */
async function readLocal(
  references: readonly ResolvableReference[],
  edges: readonly ReferenceEdge[],
  type: string | undefined,
  run: Run,
): Promise<(position: number) => ReadResult | undefined> {
  const elements = elementsByType(edges, run);
  const asked: GuardedKey[] = [];
  const places = new Map<string, number>();
  // The key that identifies equal references is computed once for each.
  const placeOf = references.map((reference) => {
    if (reference.kind !== 'local' || (type !== undefined && type !== reference.type)) return undefined;
    const key = keyOf(reference);
    let place = places.get(key);
    if (place === undefined) {
      places.set(key, (place = asked.length));
      asked.push({
        type: reference.type,
        id: reference.id,
        version: reference.version,
        elements: elements(reference.type),
      });
    }
    return place;
  });
  const found = asked.length === 0 ? [] : await call(run, () => run.options.store.read(asked, run.deadline.options));
  return (position) => {
    const place = placeOf[position];
    return place === undefined ? undefined : found[place];
  };
}

/** External references are only resolved by the host; they are never read as local ones. */
async function resolveForeign(
  references: readonly ResolvableReference[],
  run: Run,
): Promise<ReadonlyMap<string, AnyResource>> {
  const resolve = run.options.resolveReference;
  if (resolve === undefined) return NONE;
  const texts = new Set(
    references.flatMap((reference) =>
      reference.kind === 'foreign' || reference.kind === 'urn' ? textOf(reference) : [],
    ),
  );
  const found = new Map<string, AnyResource>();
  await Promise.all(
    Array.from(texts, async (text) => {
      run.spendCall();
      const resource: AnyResource | null | undefined = await resolve(text);
      if (!isJsonObject(resource) || !run.options.store.model.isResourceType(resource.resourceType)) return;
      // External resources have no identity here: stored resources do not reference them.
      run.foreign.set(resource, text);
      found.set(text, resource);
    }),
  );
  run.deadline.check();
  return found;
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();

function inside(model: FhirModel, { resource, container }: ResolvableReference & { kind: 'inside' }): Found {
  const type = knownTypeOf(model, resource);
  if (type === undefined) return new FhirError('not-found', 'The reference names a resource of no known type');
  return { type, source: resource, container };
}

/** Copies a version: the store may return the same object for the current resource. */
function versionOf(resource: AnyResource, run: Run): AnyResource {
  const version = { ...resource };
  run.versions.add(version);
  run.options.trace?.copied(version, resource);
  return version;
}

function itself(resource: AnyResource, { options }: Run): Found {
  const container = Container.of(options.store.model, resource);
  return { type: resource.resourceType, source: elementsOf(resource), container };
}

function itselfOr(resource: AnyResource | undefined, run: Run, message: string): Found {
  return resource === undefined ? new FhirError('not-found', message) : itself(resource, run);
}

function keyOf({ type, id, version }: ResolvableReference & { kind: 'local' }): string {
  return referenceTo(type, id, version);
}

function textOf(reference: ResolvableReference): string {
  return reference.kind === 'urn' ? reference.urn : reference.kind === 'foreign' ? reference.url : '';
}

type CanonicalReference = ResolvableReference & { readonly kind: 'canonical' };
type IdentifierReference = ResolvableReference & { readonly kind: 'identifier' };

/**
 * Finds the targets of canonicals by `url` or `url|version`: one search per possible type. If several resources have
 * the URL and no version is given, the most recently changed one.
 *
 * See https://hl7.org/fhir/R4/references.html#canonical.
 */
async function findByCanonical(
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
async function findByIdentifier(
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
