import { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';
import { evaluate } from '../plan/arguments.js';
import { CALL_COST, LOOKUP_COST } from '../plan/estimate-cost.js';
import type { ReadEdge, SearchEdge, StoreEdge } from '../plan/plan.js';
import { readId } from './read-id.js';
import type { Hole, HostReferenceHole, ReferenceHole, SearchHole } from './holes.js';
import type { Run } from './run.js';
import type { Waiting } from './waiting.js';

/** The bounds of the cost of a call, known before it is made. */
export interface CallBounds {
  /** The cost if the call finds nothing. */
  readonly least: number;
  /** The cost if every list has its maximum length, with few fields per resource. */
  readonly most: number;
}

/** @param waiting edges that share a call, and their holes */
export function boundsOf(waiting: readonly Waiting<StoreEdge, Hole>[], run: Run): CallBounds {
  const { edge } = waiting[0]!;
  const holes = waiting.reduce((sum, one) => sum + one.holes.length, 0);
  switch (edge.kind) {
    case 'read':
      return bounds(
        waiting.some((one) => isRead(one.edge as ReadEdge, run)),
        0,
        holes,
      );
    case 'reference':
      return bounds(
        waiting.some((one) => one.holes.some((hole) => isLocal(hole as ReferenceHole))),
        0,
        holes,
      );
    case 'host-reference':
      return bounds(
        waiting.some((one) => one.holes.some((hole) => isLink(hole as HostReferenceHole))),
        0,
        holes,
      );
    case 'search': {
      if (edge.reverse === undefined) return bounds(true, 0, pageSizeOf(edge, run));
      const targets = targetsOf(waiting as readonly Waiting<StoreEdge, SearchHole>[]);
      return bounds(targets > 0, targets, targets * pageSizeOf(edge, run));
    }
  }
}

function bounds(isCalled: boolean, lookups: number, resources: number): CallBounds {
  const least = isCalled ? CALL_COST + lookups * LOOKUP_COST : 0;
  return { least, most: least + resources };
}

/** Texts that cannot be ids are never requested. */
function isRead(edge: ReadEdge, run: Run): boolean {
  try {
    return isResourceId(readId(edge, run.options.variables));
  } catch {
    return false;
  }
}

/** Other references do not always need a call: contained resources are already loaded. */
function isLocal({ reference }: ReferenceHole): boolean {
  return reference.kind === 'local';
}

function isLink({ link }: HostReferenceHole): boolean {
  return link !== undefined && !(link instanceof FhirError);
}

/** The maximum size of a page, including the extra match that reveals a next page. */
function pageSizeOf({ count, shape }: SearchEdge, { options: { limits, variables } }: Run): number {
  if (shape.kind === 'connection' && !shape.matches) return 0;
  const size = evaluate(count, variables);
  return 1 + (typeof size === 'number' ? Math.min(size, limits.listSize) : limits.listSize);
}

function targetsOf(waiting: readonly Waiting<StoreEdge, SearchHole>[]): number {
  const names = new Set<string>();
  for (const { holes } of waiting) {
    for (const { target } of holes) if (target !== undefined) names.add(referenceTo(target.type, target.id));
  }
  return names.size;
}
