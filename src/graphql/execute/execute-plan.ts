import { type FhirError, maskError } from '../../fhir/error.js';
import { markPlain } from '../../fhir/json/stringify-json.js';
import { inTurns } from '../../platform/pace.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { OperationPlan, ReadEdge, Selection } from '../plan/plan.js';
import { MUTATION } from '../schema/fields.js';
import { fillLevel } from './fill-level.js';
import type { LiveEvent } from '../../live/live-event.js';
import { noContainer } from './host/complete-host-value.js';
import { projectResource } from './project.js';
import { fieldErrors, type ResponseError } from './response-errors.js';
import { type Output, Run, type FieldFault, type RunOptions } from './run.js';
import { shapeResponse } from './shape-response.js';
import { writeFields } from './write-fields.js';

/** The result of a plan: the data, and an error for each failed field. */
export interface Outcome {
  /** Null if the request failed as a whole. */
  readonly data: Output | null;
  /** True if data is null because a field that may not be null failed. */
  readonly isLost: boolean;
  readonly errors: readonly ResponseError[];
  readonly storeCalls: number;
  readonly rows: number;
  /** In the unit of `estimateCost`. */
  readonly cost: number;
  readonly fhirpathSteps: number;
}

/**
 * Runs a plan breadth first: one store call fills all holes of an edge, and edges of a level with the same question
 * share a call. The number of store calls is at most the number of edges, regardless of the data.
 *
 * @param focus the instance the query is executed on; undefined for the whole service
 * @throws LimitError - a limit was exceeded
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
    return await finishAnswer(holder, run);
  } catch (error) {
    throw run.written ? afterWriting(maskError(error)) : error;
  }
}

/**
 * Runs the field of a subscription for one event: its resource is that of the event, and what is below it is found as always.
 *
 * @throws as {@link executePlan}
 */
export async function executeChange(
  plan: OperationPlan,
  { event, id, resource }: LiveEvent,
  options: RunOptions,
): Promise<Outcome> {
  const run = new Run(options, plan.shaped);
  run.deadline.check();
  const root: Output = {};
  run.selections?.set(root, plan.root);
  for (const field of plan.root.fields) {
    if (field.kind !== 'changes') throw new Error(`${field.kind} is not allowed in a subscription`);
    const change: Output = {};
    root[field.key] = change;
    for (const part of field.fields) {
      if (part.part === 'typename') change[part.key] = part.value;
      else if (part.part !== 'resource') change[part.key] = part.part === 'id' ? id : event;
      else if (resource === undefined) change[part.key] = null;
      else {
        run.spendRows(1, part.selection);
        change[part.key] = projectResource(part.selection, resource, run);
      }
    }
  }
  const holder: Output = { [ROOT]: root };
  await fillLevels(run);
  return finishAnswer(holder, run);
}

/** The key of the data in its holder, so that the root object has a parent too. */
const ROOT = 'data';

/** The final data, and the errors with paths from before reshaping. */
async function finishAnswer(holder: Output, run: Run): Promise<Outcome> {
  const { storeCalls, rows, cost, fhirpathSteps } = run;
  // Paths are those of the answer before nulls move up, which removes failed places.
  const lost = run.required.isEmpty ? [] : await errorsOf(holder, run.faults.splice(0), run);
  const before = holder[ROOT];
  if (!run.required.isEmpty) run.required.propagate(holder);
  const root = holder[ROOT] as Output | null;
  const shaped = root === null || run.selections === undefined ? root : await shapeResponse(root, run);
  if (shaped !== null) noteKind(shaped, run);
  const errors = run.faults.length === 0 ? lost : [...lost, ...(await errorsOf(holder, run.faults, run))];
  // HL7's dialect has no partial answers: any failure fails the request.
  const isRefused = run.options.dialect === 'hl7' && errors.length > 0;
  const isLost = !isRefused && shaped === null && before !== null;
  return { data: isRefused ? null : shaped, isLost, errors, storeCalls, rows, cost, fhirpathSteps };
}

/** Searching a short answer is as fast as recording it. */
function noteKind(data: Output, run: Run): void {
  if (!run.hasDecimalText && run.rows > SHORT_ANSWER) markPlain(data);
}

async function errorsOf(holder: Output, found: readonly FieldFault[], run: Run): Promise<readonly ResponseError[]> {
  if (found.length === 0) return [];
  const faults = run.written ? found.map((fault) => ({ ...fault, error: afterWriting(fault.error) })) : found;
  const walk = fieldErrors(holder, faults, (out, key) => isFlattened(run.selections?.get(out), key));
  return inTurns(walk, run.pace);
}

function isFlattened(selection: Selection | undefined, key: string): boolean {
  return selection?.fields.some((field) => field.key === key && field.shaping?.flatten === true) === true;
}

/** The error of a mutation that was committed: `details.written` signals clients not to retry. */
function afterWriting(error: FhirError): FhirError {
  return error.with({ details: { written: true } });
}

async function fillLevels(run: Run): Promise<void> {
  for (;;) {
    // Their items are part of the level.
    while (run.longLists.length > 0) for (const fill of run.longLists.splice(0)) await fill();
    const level = run.takeLevel();
    if (level.size > 0) {
      if (run.pace.isSpent) await run.pace.next();
      await fillLevel(level, run);
    } else if (run.hostCalls.isIdle) {
      return;
    } else {
      await run.deadline.wait(run.hostCalls.next());
    }
  }
}

function startRoot(root: Selection, run: Run): Output {
  const { fields } = root;
  const out: Output = {};
  run.selections?.set(out, root);
  for (const field of fields) {
    if (field.kind === 'typename') out[field.key] = field.value;
    // Reserves the key; the answer needs no store and is never reshaped.
    else if (field.kind === 'introspection') out[field.key] = null;
    else if (field.kind === 'read') run.defer(field, { out });
    else if (field.kind === 'search') run.defer(field, { out, target: undefined });
    else if (field.kind === 'host') run.defer(field, { out, parent: undefined, container: noContainer(run) });
    else throw new Error(`${field.kind} is not allowed at the root`);
  }
  return out;
}

/** Reads the instance a query is executed on; the result is the root. */
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

/** In rows of the store. */
const SHORT_ANSWER = 1;
