import type { ReferenceTarget } from '../../store/store.js';
import type { OperationPlan, PlannedField, ReadEdge } from '../plan/plan.js';
import { fillEdge } from './fill.js';
import { Run, tooManyCalls, type FieldFault, type Output, type RunOptions } from './run.js';

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
  try {
    run.deadline.check();
    const holder: Output = {};
    if (focus === undefined) holder[ROOT] = startRoot(plan.root.fields, run);
    else run.leave(readFocus(plan, focus), { out: holder });
    await fillLevels(run);
    return { data: holder, faults: run.faults, storeCalls: run.storeCalls, rows: run.rows };
  } finally {
    run.deadline.close();
  }
}

/** Key under which the outcome's data stands, so that the root object too has an object around it. */
export const ROOT = 'data';

async function fillLevels(run: Run): Promise<void> {
  for (let level = run.takeLevel(); level.size > 0; level = run.takeLevel()) {
    const fills = [...level].map(([edge, holes]) => fillEdge(edge, holes, run));
    const results = await run.deadline.wait(Promise.allSettled(fills));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}

function startRoot(fields: readonly PlannedField[], run: Run): Output {
  const { limits } = run.options;
  // Known before the first of them is made.
  if (fields.filter(({ kind }) => kind !== 'typename').length > limits.storeCalls) throw tooManyCalls(limits);
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
