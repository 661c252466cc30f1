import { inSpan } from '../../../telemetry/observer.js';
import { fieldName, type HostFieldDefinition } from '../../schema/host/host-schema.js';
import type { HostFieldContext } from '../../schema/host/host-fields.js';
import type { Run } from '../run.js';
import { hostError } from './host-error.js';

/**
 * Calls a resolver of the host within its time, under the limits of the request and in a span of its own.
 *
 * @param parents their number
 * @param work the call, with the context that resolvers get
 * @throws FhirError `unavailable` - it exceeded its timeout
 * @throws FhirError the host's error, masked unless it is a `FhirError`
 * @throws LimitError `resolverCalls`, `cost`, `timeout`
 */
export async function callResolver<Result>(
  field: HostFieldDefinition,
  parents: number,
  run: Run,
  work: (context: HostFieldContext) => Result | Promise<Result>,
): Promise<Result> {
  run.spendResolver(parents, field.cost);
  const { caller } = run.options.store;
  const call = (signal: AbortSignal): Promise<Result> =>
    inSpan(run.options.observer, 'fhirgraph.field', async (span) => {
      span.setAttribute('fhirgraph.field', fieldName(field));
      span.setAttribute('fhirgraph.parents', parents);
      try {
        return await work({ caller, signal });
      } catch (error) {
        throw hostError(error);
      }
    });
  return run.deadline.lend(field.timeout, call);
}
