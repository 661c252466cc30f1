import { type FhirError, maskError } from '../../fhir/error.js';
import type { ReferenceTarget } from '../../store/store.js';
import type { OperationPlan, ReadEdge, Selection } from '../plan/plan.js';
import { MUTATION } from '../schema/fields.js';
import { fillLevel } from './fill-level.js';
import { fieldErrors, type ResponseError } from './response-errors.js';
import { Run, type Output, type RunOptions } from './run.js';
import { shapeResponse } from './shape-response.js';
import { writeFields } from './write-fields.js';

/** What a plan gave: the data, and an error for each field that is null in it because it failed. */
export interface Outcome {
  /** Null where the request failed as a whole. */
  readonly data: Output | null;
  readonly errors: readonly ResponseError[];
  readonly storeCalls: number;
  readonly rows: number;
  /** In the unit of `estimateCost`. */
  readonly cost: number;
  readonly fhirpathSteps: number;
}

/**
 * Runs a plan breadth first: all holes of one edge are filled by one store call, which edges of the same level share where
 * they ask the same question. The number of store calls is at most the number of edges, whatever the data.
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
  const run = new Run(options, plan.shaped);
  try {
    run.deadline.check();
    const holder: Output = {};
    if (plan.root.type === MUTATION) holder[ROOT] = await writeFields(plan.root, run);
    else if (focus === undefined) holder[ROOT] = startRoot(plan.root, run);
    else run.defer(readFocus(plan, focus), { out: holder });
    await fillLevels(run);
    const { storeCalls, rows, cost, fhirpathSteps } = run;
    return { ...finish(holder, run), storeCalls, rows, cost, fhirpathSteps };
  } catch (error) {
    throw run.written ? afterWriting(maskError(error)) : error;
  } finally {
    run.deadline.close();
  }
}

/** Key under which the outcome's data stands, so that the root object too has an object around it. */
export const ROOT = 'data';

/** The data in its final shape, and the errors by where the fields stood before it was given. */
function finish(holder: Output, run: Run): Pick<Outcome, 'data' | 'errors'> {
  const root = holder[ROOT] as Output | null;
  const shaped = root !== null && run.selections !== undefined ? shapeResponse(root, run, run.options.dialect) : root;
  const faults = run.written ? run.faults.map((fault) => ({ ...fault, error: afterWriting(fault.error) })) : run.faults;
  const errors = fieldErrors(holder, faults, (out, key) => isFlattened(run.selections?.get(out), key));
  // HL7's dialect knows no partial answers: whatever fails, fails the request.
  return { data: run.options.dialect === 'hl7' && errors.length > 0 ? null : shaped, errors };
}

function isFlattened(selection: Selection | undefined, key: string): boolean {
  return selection?.fields.some((field) => field.key === key && field.shaping?.flatten === true) === true;
}

/** The error of a mutation that took place: `details.written` keeps its sender from sending it again. */
function afterWriting(error: FhirError): FhirError {
  return error.with({ details: { written: true } });
}

async function fillLevels(run: Run): Promise<void> {
  for (let level = run.takeLevel(); level.size > 0; level = run.takeLevel()) {
    const results = await run.deadline.wait(Promise.allSettled(fillLevel(level, run)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}

function startRoot(root: Selection, run: Run): Output {
  const { fields } = root;
  const out: Output = {};
  run.selections?.set(out, root);
  for (const field of fields) {
    if (field.kind === 'typename') out[field.key] = field.value;
    // Keeps the place; the answer needs no store and is never reshaped.
    else if (field.kind === 'introspection') out[field.key] = null;
    else if (field.kind === 'read') run.defer(field, { out });
    else if (field.kind === 'search') run.defer(field, { out, target: undefined });
    else throw new Error(`${field.kind} cannot stand at the root`);
  }
  return out;
}

/** A query about one instance is a read of it whose result is the root. */
export function readFocus(plan: OperationPlan, focus: ReferenceTarget): ReadEdge {
  return {
    kind: 'read',
    key: ROOT,
    location: undefined,
    shaping: undefined,
    type: focus.type,
    id: { kind: 'literal', value: focus.id },
    selection: plan.root,
  };
}
