import { isJsonObject, MAX_RESOURCE_DEPTH } from '../../../fhir/resource.js';
import type { Run } from '../run.js';
import { FhirError } from '../../../fhir/error.js';
import { LimitError } from '../../limits.js';

/**
 * Converts a value of a resolver to a scalar or enum, as graphql-js serializes results.
 *
 * @param codes the values of an enum; undefined for scalars
 * @returns undefined for values that do not fit
 */
export function completeHostLeaf(
  type: string,
  codes: readonly string[] | undefined,
  value: unknown,
  run: Run,
): unknown {
  if (codes !== undefined) return typeof value === 'string' && codes.includes(value) ? value : undefined;
  switch (type) {
    case 'String':
      return ['string', 'boolean', 'bigint'].includes(typeof value) || Number.isFinite(value)
        ? String(value)
        : undefined;
    case 'ID':
      return typeof value === 'string' || typeof value === 'bigint' || Number.isSafeInteger(value)
        ? String(value)
        : undefined;
    case 'Int':
      return typeof value === 'number' && (value | 0) === value ? value : undefined;
    case 'Float':
      return Number.isFinite(value) ? value : undefined;
    case 'Boolean':
      return typeof value === 'boolean' ? value : undefined;
    default:
      return copyJson(value, run, 0);
  }
}

/** A value of a scalar of the host, as JSON; undefined for values that JSON cannot represent, such as cycles. */
function copyJson(value: unknown, run: Run, depth: number): unknown {
  if (depth > MAX_RESOURCE_DEPTH) return undefined;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'object') return undefined;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    return copyJson((value as { toJSON: () => unknown }).toJSON(), run, depth + 1);
  }
  if (Array.isArray(value)) {
    run.spendObject(value.length);
    const items = value.map((item) => copyJson(item ?? null, run, depth + 1));
    if (items.includes(undefined)) return undefined;
    run.opaque.add(items);
    return items;
  }
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  run.spendObject(entries.length);
  const copy: { [name: string]: unknown } = {};
  for (const [name, inner] of entries) {
    const copied = copyJson(inner, run, depth + 1);
    if (copied === undefined) return undefined;
    Object.defineProperty(copy, name, { value: copied, enumerable: true, writable: true, configurable: true });
  }
  run.opaque.add(copy);
  return copy;
}

/**
 * The error of a field whose resolver failed. The client sees a `FhirError` of the host; any other error becomes
 * `internal`, and only the host sees its cause. An abort or a limit inside the resolver does not end the request.
 */
export function hostError(error: unknown): FhirError {
  if (error instanceof FhirError && !(error instanceof LimitError) && error.code !== 'aborted') return error;
  return new FhirError('internal', 'Internal error', { cause: error ?? new TypeError('The resolver threw nothing') });
}

/** A fault of the host's code: the client learns only that the field failed. */
export function hostFault(message: string): FhirError {
  return new FhirError('internal', 'Internal error', { cause: new TypeError(message) });
}
