import { carryOutWrites } from '../../interactions/carry-out-writes.js';
import type { AuditTarget } from '../../audit/audit-record.js';
import { failedIndex, withoutIndex } from '../../access/write-error.js';
import type { WriteOutcome, WriteRequest } from '../../interactions/write-request.js';
import type { FhirError } from '../../fhir/error.js';
import { elementsOf, isJsonObject } from '../../fhir/resource.js';
import { LimitError, type Limits } from '../limits.js';
import type { Selection, WriteField } from '../plan/plan.js';
import { boundedStore } from './bounded-store.js';
import { projectResource } from './project.js';
import type { Output, Run } from './run.js';
import { writeRequest } from './write-requests.js';

/**
 * Executes the fields of a mutation in order and atomically, then selects from the resource that each of them wrote.
 * Selections see the state after the whole mutation.
 *
 * If one field fails, nothing is written: every field is null, and the error has the path of that field. A resource
 * that the caller may write but not read is null without an error.
 *
 * @throws LimitError `writes`
 */
export async function writeFields(root: Selection, run: Run): Promise<Output> {
  const out: Output = {};
  run.selections?.set(out, root);
  const fields: WriteField[] = [];
  for (const field of root.fields) {
    out[field.key] = field.kind === 'typename' ? field.value : null;
    if (field.kind === 'write') fields.push(field);
    else if (field.kind !== 'typename') throw new Error(`${field.kind} is not allowed at the root of a mutation`);
  }
  assertFewWrites(fields.length, run.options.limits);
  const outcomes = await carryOut(fields, out, run);
  outcomes?.forEach((outcome, index) => {
    const field = fields[index]!;
    if (!('resource' in outcome) || ('unreadable' in outcome && outcome.unreadable === true)) return;
    run.spendRows(1, field.selection);
    out[field.key] = projectResource(field.selection, outcome.resource, run);
  });
  return out;
}

/** @returns undefined if a field failed and nothing was written */
async function carryOut(
  fields: readonly WriteField[],
  out: Output,
  run: Run,
): Promise<readonly WriteOutcome[] | undefined> {
  const { variables, baseUrl, onWrites } = run.options;
  const requests: WriteRequest[] = [];
  for (const field of fields) {
    try {
      requests.push(writeRequest(run.options.store.model, field, variables));
    } catch (error) {
      run.fail(out, field, error);
      return undefined;
    }
  }
  onWrites?.(requests.map((request, index) => requestedTarget(request, fields[index]!)));
  const session = { store: boundedStore(run), options: run.deadline.options, baseUrl };
  try {
    const outcomes = await carryOutWrites(requests, session);
    run.written = outcomes.some(hasWritten);
    onWrites?.(outcomes.map((outcome, index) => writtenTarget(outcome, fields[index]!)));
    return outcomes;
  } catch (error) {
    const index = failedIndex(error);
    const field = typeof index === 'number' ? fields[index] : undefined;
    if (field === undefined) throw error;
    run.fail(out, field, withoutIndex(error as FhirError));
    return undefined;
  }
}

/** @throws LimitError `writes` */
export function assertFewWrites(count: number, limits: Limits): void {
  if (count <= limits.writes) return;
  const message = `The mutation has ${count} fields; at most ${limits.writes} may write at once, so split it`;
  throw new LimitError('writes', limits.writes, message, count);
}

function hasWritten(outcome: WriteOutcome): boolean {
  return outcome.status === 'deleted' ? outcome.versionId !== null : outcome.status !== 'matched';
}

function requestedTarget(request: WriteRequest, { type, interaction }: WriteField): AuditTarget {
  if ('key' in request) return { type, id: request.key.id, interaction };
  const id = interaction === 'update' && isJsonObject(request.resource) ? request.resource['id'] : undefined;
  return { type, interaction, ...(typeof id === 'string' ? { id } : {}) };
}

function writtenTarget(outcome: WriteOutcome, { type, interaction }: WriteField): AuditTarget {
  if (outcome.status === 'deleted') {
    const { key, versionId } = outcome;
    return { type, id: key.id, interaction, ...(versionId === null ? {} : { versionId }) };
  }
  const { id } = outcome.resource;
  const meta = elementsOf(outcome.resource)['meta'];
  const versionId = isJsonObject(meta) ? meta['versionId'] : undefined;
  return {
    type,
    id,
    // A conditional create that finds a match only returns it.
    interaction: outcome.status === 'matched' ? 'read' : interaction,
    ...(typeof versionId === 'string' ? { versionId } : {}),
  };
}
