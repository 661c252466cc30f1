import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import { and, type ChainCriteria, childrenOf, type Criteria, NONE, refersTo } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import {
  createSubject,
  EMPTY_WORLD,
  insideSubjects,
  type SearchSubject,
} from '../../search/evaluate/search-subject.js';
import type { CallOptions } from '../../store/call-options.js';
import { CallPace } from '../../store/guards.js';
import type { SearchQuery } from '../../store/search-query.js';
import type { ResourceStore } from '../../store/store.js';

/**
 * A decision that may need to know whether the store holds a match for some queries. It yields each query and resumes
 * with the answer. It has no other inputs: equal answers give equal decisions. Long work is done in steps, between which it
 * yields {@link STEP}.
 */
export type Deciding<Result> = Generator<SearchQuery | typeof STEP, Result, boolean>;

/** Yielded in place of a query: a point where other work may run. */
export const STEP = Symbol('step');

/** Runs a decision, with a store that answers its queries one after the other. */
export async function answeredBy<Result>(
  store: ResourceStore,
  deciding: Deciding<Result>,
  options?: CallOptions,
): Promise<Result> {
  let step = deciding.next();
  let pace: CallPace | undefined;
  while (step.done !== true) {
    if (step.value === STEP) {
      pace ??= new CallPace(options);
      if (pace.isSpent) await pace.next();
      step = deciding.next(false);
      continue;
    }
    const { matches } = await store.search({ ...step.value, limit: 1 }, options);
    step = deciding.next(matches.length > 0);
  }
  return step.value;
}

/** The targets of chains in criteria. */
interface ChainScope {
  readonly model: FhirModel;
  /** The project of the stored targets. */
  readonly project: string;
  readonly overlay: Overlay;
  /** The `lastUpdated` of a resource without one, in milliseconds since 1970. */
  readonly now: number;
}

/**
 * Evaluates criteria for one resource, stored or not, with chains into the store and into the writes of the same
 * commit.
 */
export function* evaluateCriteria(
  criteria: Criteria,
  subjectOf: () => SearchSubject,
  scope: ChainScope,
): Deciding<boolean> {
  if (criteria.kind === 'all') return true;
  const subject = subjectOf();
  return isLocal(criteria) ? matches(criteria, subject, EMPTY_WORLD) : yield* holds(criteria, subject, scope);
}

/**
 * A resource for {@link evaluateCriteria}. Indexing a resource is slow. A caller who sees everything needs no
 * index entries, and hundreds of rules share them.
 */
export function subjectOnUse(
  resource: AnyResource,
  { model, now }: Pick<ChainScope, 'model' | 'now'>,
): () => SearchSubject {
  let subject: SearchSubject | undefined;
  return () => (subject ??= createSubject(model, resource, resource.meta?.lastUpdated ?? now));
}

function* holds(criteria: Criteria, subject: SearchSubject, scope: ChainScope): Deciding<boolean> {
  const { project, overlay } = scope;
  switch (criteria.kind) {
    case 'and':
      for (const one of criteria.of) if (!(yield* holds(one, subject, scope))) return false;
      return true;
    case 'or':
      for (const one of criteria.of) if (yield* holds(one, subject, scope)) return true;
      return false;
    case 'not':
      return !(yield* holds(criteria.of, subject, scope));
    case 'chain':
      return (yield* holdsInside(criteria, subject, scope)) || (yield* holdsOutside(criteria, subject, scope));
    case 'has': {
      // Resources inside another cannot be referenced.
      if (subject.container !== undefined) return false;
      for (const source of overlay.subjects(criteria.type)) {
        if (pointsTo(source, criteria.parameter, subject) && (yield* holds(criteria.of, source, scope))) return true;
      }
      const replaced: Criteria = { kind: 'id', ids: overlay.replaced(criteria.type) };
      const sources = and([refersTo(criteria.parameter, subject), { kind: 'not', of: replaced }, criteria.of]);
      return yield { project, type: criteria.type, criteria: sources };
    }
    default:
      return matches(criteria, subject, EMPTY_WORLD);
  }
}

function* holdsInside(
  { parameter, type, of, reach }: ChainCriteria,
  subject: SearchSubject,
  scope: ChainScope,
): Deciding<boolean> {
  if (reach === 'outside') return false;
  for (const inside of insideSubjects(subject, parameter, type)) if (yield* holds(of, inside, scope)) return true;
  return false;
}

function* holdsOutside(
  { parameter, type, of: asked, reach }: ChainCriteria,
  subject: SearchSubject,
  scope: ChainScope,
): Deciding<boolean> {
  if (reach === 'inside') return false;
  // A chain that leaves a contained resource enters no other contained resources.
  const of = subject.container === undefined ? asked : outsideOnly(asked);
  const stored: string[] = [];
  for (const { value } of subject.entries.get(parameter) ?? []) {
    if (value.kind !== 'reference' || !('id' in value) || value.type !== type) continue;
    const written = scope.overlay.find(value.type, value.id);
    if (written === undefined) stored.push(value.id);
    else if (written !== null && (yield* holds(of, written, scope))) return true;
  }
  if (stored.length === 0) return false;
  return yield { project: scope.project, type, criteria: and([{ kind: 'id', ids: stored }, of]) };
}

/** Restricts chains to stored resources, up to the next `_has`. */
function outsideOnly(criteria: Criteria): Criteria {
  switch (criteria.kind) {
    case 'and':
    case 'or':
      return { ...criteria, of: criteria.of.map(outsideOnly) };
    case 'not':
      return { ...criteria, of: outsideOnly(criteria.of) };
    case 'chain':
      return criteria.reach === 'inside' ? NONE : { ...criteria, of: outsideOnly(criteria.of), reach: 'outside' };
    default:
      return criteria;
  }
}

/** True if the criteria have no chain or `_has`: the resource alone decides. */
export function isLocal(criteria: Criteria): boolean {
  return criteria.kind !== 'chain' && criteria.kind !== 'has' && childrenOf(criteria).every(isLocal);
}

function pointsTo(
  source: SearchSubject,
  parameter: string,
  target: { readonly type: string; readonly id: string },
): boolean {
  return (source.entries.get(parameter) ?? []).some(
    ({ value }) => value.kind === 'reference' && 'id' in value && value.type === target.type && value.id === target.id,
  );
}

/** The writes of a commit over the stored resources: later writes of the commit see them as stored. */
export interface Overlay {
  /** Undefined if the commit does not write it, null if it deletes it. */
  find(type: string, id: string): SearchSubject | null | undefined;
  /** The resources of a type that the commit writes. */
  subjects(type: string): Iterable<SearchSubject>;
  /** Ids of resources of a type whose stored versions are outdated. */
  replaced(type: string): readonly string[];
}

/** No commit: only stored resources count. */
export const NO_OVERLAY: Overlay = { find: () => undefined, subjects: () => [], replaced: () => [] };

/** Adds one resource to the overlay, with precedence over the commit and the store. */
export function overlaidWith(model: FhirModel, overlay: Overlay, resource: AnyResource, now: number): Overlay {
  const { resourceType: type, id = '' } = resource;
  let subject: SearchSubject | undefined;
  const own = (): SearchSubject => (subject ??= createSubject(model, resource, now));
  return {
    find: (otherType, otherId) => (otherType === type && otherId === id ? own() : overlay.find(otherType, otherId)),
    *subjects(otherType) {
      for (const other of overlay.subjects(otherType)) if (otherType !== type || other.id !== id) yield other;
      if (otherType === type) yield own();
    },
    replaced: (otherType) => (otherType === type ? [...overlay.replaced(type), id] : overlay.replaced(otherType)),
  };
}
