import { createSubject, type SearchSubject, EMPTY_WORLD } from '../../search/evaluate/search-subject.js';
import { and, refersTo, type Criteria } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { Deciding } from './deciding.js';
import type { Overlay } from './overlay.js';

/** Where the chains of criteria lead. */
export interface ChainScope {
  /** The project whose stored resources they reach. */
  readonly project: string;
  readonly overlay: Overlay;
  /** The time that a resource without `meta.lastUpdated` counts as written at, in milliseconds since 1970. */
  readonly now: number;
}

/**
 * Whether one resource, stored or not yet, matches criteria whose chains lead into a store, and into what the same commit
 * writes.
 */
export function* evaluateCriteria(criteria: Criteria, resource: AnyResource, scope: ChainScope): Deciding<boolean> {
  const subject = createSubject(resource, resource.meta?.lastUpdated ?? scope.now);
  return isLocal(criteria) ? matches(criteria, subject, EMPTY_WORLD) : yield* holds(criteria, subject, scope);
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
    case 'chain': {
      const stored: string[] = [];
      for (const { value } of subject.entries.get(criteria.parameter) ?? []) {
        if (value.kind !== 'reference' || !('id' in value) || value.type !== criteria.type) continue;
        const written = overlay.find(value.type, value.id);
        if (written === undefined) stored.push(value.id);
        else if (written !== null && (yield* holds(criteria.of, written, scope))) return true;
      }
      if (stored.length === 0) return false;
      return yield { project, type: criteria.type, criteria: and([{ kind: 'id', ids: stored }, criteria.of]) };
    }
    case 'has': {
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

/** True where no chain or `_has` is in the criteria: they can be decided from the resource alone. */
export function isLocal(criteria: Criteria): boolean {
  switch (criteria.kind) {
    case 'and':
    case 'or':
      return criteria.of.every(isLocal);
    case 'not':
      return isLocal(criteria.of);
    case 'chain':
    case 'has':
      return false;
    default:
      return true;
  }
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
