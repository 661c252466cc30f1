import type { ReferenceTarget } from '../../store/store.js';
import type { OperationPlan, PlannedField, ReadEdge } from '../plan/plan.js';
import { fillEdge } from './fill.js';
import { Run, type FieldFault, type Output, type RunOptions } from './run.js';

/** What a plan gave: the data and the fields that failed, each null in the data. */
export interface Outcome {
  readonly data: Output;
  readonly faults: readonly FieldFault[];
  readonly storeCalls: number;
  readonly rows: number;
}

/**
 * Runs a plan breadth first: all holes of one edge are filled by one store call, the edges of a level side by side.
 * The number of store calls is the number of edges, whatever the data.
 *
 * @param focus the instance the query is about, whose fields are then the root's; undefined for the whole service
 * @throws LimitError - the request costs more than it may
 * @throws FhirError `aborted` - by the host's signal
 */
export async function executePlan(
  plan: OperationPlan,
  focus: ReferenceTarget | undefined,
  options: RunOptions,
): Promise<Outcome> {
  const run = new Run(options);
  const holder: Output = {};
  if (focus === undefined) holder[ROOT] = startRoot(plan.root.fields, run);
  else run.leave(readFocus(plan, focus), { out: holder });
  for (let level = run.takeLevel(); level.size > 0; level = run.takeLevel()) {
    const results = await Promise.allSettled([...level].map(([edge, holes]) => fillEdge(edge, holes, run)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
  return { data: holder, faults: run.faults, storeCalls: run.storeCalls, rows: run.rows };
}

/** Key under which the outcome's data stands, so that the root object too has an object around it. */
export const ROOT = 'data';

function startRoot(fields: readonly PlannedField[], run: Run): Output {
  const out: Output = {};
  for (const field of fields) {
    if (field.kind === 'typename') out[field.key] = field.value;
    else if (field.kind === 'read') run.leave(field, { out });
    else if (field.kind === 'search') run.leave(field, { out, target: undefined });
    else throw new Error(`${field.kind} cannot stand at the root`);
  }
  return out;
}

/** A query about one instance is a read of it whose result is the root. */
function readFocus(plan: OperationPlan, focus: ReferenceTarget): ReadEdge {
  return {
    kind: 'read',
    key: ROOT,
    location: undefined,
    type: focus.type,
    id: { kind: 'literal', value: focus.id },
    selection: plan.root,
  };
}
