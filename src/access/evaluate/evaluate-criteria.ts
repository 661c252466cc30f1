import { createSubject, type SearchSubject, EMPTY_WORLD } from '../../search/evaluate/search-subject.js';
import { and, refersTo, type Criteria } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { ResourceStore } from '../../store/store.js';
import type { Overlay } from './overlay.js';

/**
 * Whether one resource, stored or not yet, matches criteria whose chains lead into a store, and into what the same commit
 * writes.
 */
export async function evaluateCriteria(
  criteria: Criteria,
  resource: AnyResource,
  within: {
    readonly store: ResourceStore;
    readonly project: string;
    readonly overlay: Overlay;
  },
): Promise<boolean> {
  const subject = createSubject(resource, resource.meta?.lastUpdated ?? Date.now());
  return holds(criteria, subject);

  async function holds(criteria: Criteria, subject: SearchSubject): Promise<boolean> {
    switch (criteria.kind) {
      case 'and':
        for (const one of criteria.of) if (!(await holds(one, subject))) return false;
        return true;
      case 'or':
        for (const one of criteria.of) if (await holds(one, subject)) return true;
        return false;
      case 'not':
        return !(await holds(criteria.of, subject));
      case 'chain': {
        const stored: string[] = [];
        for (const { value } of subject.entries.get(criteria.parameter) ?? []) {
          if (value.kind !== 'reference' || !('id' in value) || value.type !== criteria.type) continue;
          const written = within.overlay.find(value.type, value.id);
          if (written === undefined) stored.push(value.id);
          else if (written !== null && (await holds(criteria.of, written))) return true;
        }
        if (stored.length === 0) return false;
        return exists(criteria.type, and([{ kind: 'id', ids: stored }, criteria.of]));
      }
      case 'has':
        for (const source of within.overlay.subjects(criteria.type)) {
          if (pointsTo(source, criteria.parameter, subject) && (await holds(criteria.of, source))) return true;
        }
        return exists(
          criteria.type,
          and([
            refersTo(criteria.parameter, subject),
            { kind: 'not', of: { kind: 'id', ids: within.overlay.replaced(criteria.type) } },
            criteria.of,
          ]),
        );
      default:
        return matches(criteria, subject, EMPTY_WORLD);
    }
  }

  async function exists(type: string, criteria: Criteria): Promise<boolean> {
    const { matches } = await within.store.search({ project: within.project, type, criteria, limit: 1 });
    return matches.length > 0;
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
