import { FhirError } from '../fhir/error.js';
import { noteDecimals } from '../fhir/json/note-decimals.js';
import { textWithDecimals } from '../fhir/json/stringify-json.js';
import { type AnyResource, DEFAULT_RESOURCE_BYTES } from '../fhir/resource.js';
import { assertWholeNumber } from '../fhir/whole-number.js';
import { byteLength } from '../platform/byte-length.js';

/**
 * Largest resource, in bytes of its JSON text as UTF-8: 128 MiB. A quarter of JavaScript's longest string, so that every
 * store can write it with escapes and beside others. It is also the longest line of NDJSON.
 */
export const MAX_RESOURCE_BYTES = 128 * 1024 * 1024;

/** The option `maxResourceBytes` with its default. @throws FhirError `invalid` - it is out of its range */
export function resourceBytes(option: number | undefined): number {
  const bytes = option ?? DEFAULT_RESOURCE_BYTES;
  assertWholeNumber('maxResourceBytes', bytes, 1, MAX_RESOURCE_BYTES);
  return bytes;
}

/** In bytes, reserved for the members added on storing: version, instant, project, author. */
const MAX_STAMP_BYTES = 1_024;

/**
 * The JSON text a store keeps; {@link parseJsonText} reads it.
 *
 * Decimals are in it as they were written (`1.00`). Where JavaScript would write one differently, the text begins with
 * a space: the mark that its reader has to look for them. It is JSON all the same.
 *
 * @throws FhirError `too-costly` - larger than {@link MAX_RESOURCE_BYTES}.
 * @throws FhirError `unprocessable` - nested too deeply for JSON, circular, or containing values that JSON cannot
 * represent (a bigint).
 */
export function jsonText(resource: AnyResource): string {
  const plain = stringify(resource);
  const written = textWithDecimals(resource);
  const text = written === undefined ? plain : `${DECIMALS_MARK}${written}`;
  if (isLongerThan(text, MAX_RESOURCE_BYTES + MAX_STAMP_BYTES)) throw tooLarge(resource);
  return text;
}

/** Any version written by JavaScript begins with a brace. */
const DECIMALS_MARK = ' ';

/**
 * The resource in a text from {@link jsonText}. Its decimals are numbers; how they were written is kept beside them and
 * survives copying with spread, but neither `structuredClone` nor messages between threads, so parse the text in the
 * thread that uses the resource.
 *
 * @throws SyntaxError - not JSON
 */
export function parseJsonText(text: string): AnyResource {
  const value = JSON.parse(text) as AnyResource;
  if (text.startsWith(DECIMALS_MARK)) noteDecimals(text, value);
  return value;
}

function stringify(resource: AnyResource): string {
  try {
    return JSON.stringify(resource);
  } catch (cause) {
    if (cause instanceof RangeError && /string length/i.test(cause.message)) throw tooLarge(resource, cause);
    const where = `${resource.resourceType}/${resource.id ?? ''}`;
    throw new FhirError('unprocessable', `${where} cannot be written as JSON: nested too deeply, circular or no JSON`, {
      cause,
    });
  }
}

/** PERF: one UTF-16 unit is three bytes at most, so short texts need not be measured. */
function isLongerThan(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && byteLength(text) > bytes;
}

function tooLarge({ resourceType, id = '' }: AnyResource, cause?: unknown): FhirError {
  const message = `${resourceType}/${id} is larger than ${MAX_RESOURCE_BYTES} bytes, the most that a resource may have`;
  return new FhirError('too-costly', message, { details: { max: MAX_RESOURCE_BYTES }, cause });
}
