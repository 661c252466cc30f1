import { isJsonObject } from '../../../fhir/resource.js';
import type { WriteOutcome, WriteRequest } from '../../../interactions/write-request.js';
import { randomId } from '../../../platform/crypto.js';
import type { HostWriteField } from '../../plan/plan.js';
import type { HostWrite, HostWriteContext, HostWriteOutcome } from '../../schema/host/host-fields.js';
import { fieldName } from '../../schema/host/host-schema.js';
import { isList, namedTypeOf } from '../../schema/host/type-reference.js';
import { projectContained, projectResource } from '../project.js';
import type { Output, Run } from '../run.js';
import { callResolver } from './fill-host-fields.js';
import { coerceHostArguments } from './coerce-host-input.js';
import { completeHostValue, noContainer } from './complete-host-value.js';
import { hostError, hostFault } from './host-leaf.js';

/** The writes that a field of the host gives, and its arguments for `result`. */
export interface HostWrites {
  readonly requests: readonly WriteRequest[];
  readonly args: object;
}

/**
 * Calls the host's function for the writes of a field.
 *
 * @throws FhirError `invalid` - an argument does not fit
 * @throws FhirError the host's `FhirError`; `internal` for other errors and for a malformed result
 */
export async function hostWrites(field: HostWriteField, run: Run): Promise<HostWrites> {
  const { selections, variables } = run.options;
  const args = coerceHostArguments(selections.model, field.field.args, field.args, variables);
  const own = new Set<string>();
  const newId = (): string => {
    const id = randomId();
    own.add(id);
    return id;
  };
  const writes = field.field.call as (args: object, context: HostWriteContext) => unknown;
  const given = await callResolver(field.field, 1, run, (context) => writes(args, { ...context, newId }));
  if (!Array.isArray(given)) throw hostFault(`${fieldName(field.field)}: writes must return a list`);
  return { requests: given.map((write) => requestOf(write, field, own)), args };
}

function requestOf(write: unknown, { field }: HostWriteField, own: ReadonlySet<string>): WriteRequest {
  const { interaction, ...given } = (isJsonObject(write) ? write : {}) as Partial<HostWrite>;
  switch (interaction) {
    case 'create': {
      const { resource, ifNoneExist } = given as HostWrite & { interaction: 'create' };
      const id = isJsonObject(resource) ? resource['id'] : undefined;
      const generatedId = typeof id === 'string' && own.has(id) ? id : undefined;
      return { interaction, resource, ifNoneExist, generatedId };
    }
    case 'update': {
      const { resource, ifMatch } = given as HostWrite & { interaction: 'update' };
      return { interaction, resource, ifMatch };
    }
    case 'patch': {
      const { type, id, operations, ifMatch } = given as HostWrite & { interaction: 'patch' };
      return { interaction, key: { type, id }, operations, ifMatch };
    }
    case 'delete': {
      const { type, id, ifMatch } = given as HostWrite & { interaction: 'delete' };
      return { interaction, key: { type, id }, ifMatch };
    }
    default:
      throw hostFault(`${fieldName(field)}: a write has an interaction: create, update, patch or delete`);
  }
}

/** Writes the value of a field of the host whose writes were committed. */
export function answerHostWrites(
  field: HostWriteField,
  { args }: HostWrites,
  outcomes: readonly WriteOutcome[],
  out: Output,
  run: Run,
): void {
  const { result, type } = field.field;
  if (result !== undefined) {
    completeHostValue(field, valueOf(result, outcomes, args), out, noContainer(run), run, projectContained);
  } else if (field.value.kind === 'resource') {
    putWritten(field, outcomes, out, run);
  } else {
    completeHostValue(
      field,
      namedTypeOf(type) === 'Boolean' ? true : null,
      out,
      noContainer(run),
      run,
      projectContained,
    );
  }
}

function valueOf(
  result: NonNullable<HostWriteField['field']['result']>,
  outcomes: readonly WriteOutcome[],
  args: object,
) {
  try {
    const call = result as (outcomes: readonly HostWriteOutcome[], args: object) => unknown;
    return call(outcomes.map(publicOutcome), args);
  } catch (error) {
    return hostError(error);
  }
}

function publicOutcome(outcome: WriteOutcome): HostWriteOutcome {
  if (outcome.status !== 'deleted') return outcome;
  return { status: 'deleted', type: outcome.key.type, id: outcome.key.id };
}

/** The resources of the field's type that it wrote and the caller may read: the first, or all for a list. */
function putWritten(field: HostWriteField, outcomes: readonly WriteOutcome[], out: Output, run: Run): void {
  if (field.value.kind !== 'resource') return;
  const { edge } = field.value;
  const written = outcomes.flatMap((outcome) => {
    if (outcome.status === 'deleted' || ('unreadable' in outcome && outcome.unreadable === true)) return [];
    return edge.type === undefined || edge.type === outcome.resource.resourceType ? [outcome.resource] : [];
  });
  const projected = (isList(field.field.type) ? written : written.slice(0, 1)).map((resource) => {
    const selection = edge.selection ?? run.options.selections.forType(edge.selections!, resource.resourceType);
    run.spendRows(1, selection);
    return projectResource(selection, resource, run);
  });
  if (field.field.type.kind === 'required') run.require(out, field.key);
  out[field.key] = isList(field.field.type) ? projected : (projected[0] ?? null);
}
