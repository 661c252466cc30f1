import { FhirError } from '../fhir/error.js';
import { noteDecimals } from '../fhir/json/parse-json.js';
import { elementText, hasDecimalText, hasOwnJson, textWithDecimals } from '../fhir/json/stringify-json.js';
import { type AnyResource, DEFAULT_RESOURCE_BYTES, DEFAULT_RESOURCE_VALUES, elementsOf } from '../fhir/resource.js';
import { assertWholeNumber } from '../fhir/whole-number.js';
import { byteLength } from '../platform/bytes.js';

/**
 * Largest resource, in bytes of its JSON text as UTF-8: 128 MiB. A quarter of JavaScript's longest string, so that
 * every store can escape it and combine it with other texts. It is also the longest line of NDJSON.
 */
export const MAX_RESOURCE_BYTES = 128 * 1024 * 1024;

/** The option `maxResourceBytes` with its default. @throws FhirError `invalid` - it is out of its range */
export function resourceBytes(option: number | undefined): number {
  const bytes = option ?? DEFAULT_RESOURCE_BYTES;
  assertWholeNumber('maxResourceBytes', bytes, 1, MAX_RESOURCE_BYTES);
  return bytes;
}

/** The option `maxResourceValues` with its default. @throws FhirError `invalid` - it is out of its range */
export function resourceValues(option: number | undefined): number {
  const values = option ?? DEFAULT_RESOURCE_VALUES;
  assertWholeNumber('maxResourceValues', values, 1, MAX_RESOURCE_VALUES);
  return values;
}

const MAX_RESOURCE_VALUES = 10_000_000;

/** In bytes, reserved for the members added on storing: version, instant, project, author. */
const MAX_STAMP_BYTES = 1_024;

/**
 * The JSON text a store keeps; {@link parseJsonText} reads it.
 *
 * Decimals keep their original digits (`1.00`). If JavaScript would write one differently, the text begins with a
 * space, so that the reader restores the digits. The text is valid JSON in both cases.
 *
 * @throws FhirError `too-costly` - larger than {@link MAX_RESOURCE_BYTES}.
 * @throws FhirError `unprocessable` - nested too deeply for JSON, circular, or containing values that JSON cannot
 * represent (a bigint).
 */
export function jsonText(resource: AnyResource): string {
  const plain = unlessUnwritable(resource, () => JSON.stringify(resource));
  const written = textWithDecimals(resource);
  return unlessTooLarge(resource, written === undefined ? plain : `${DECIMALS_MARK}${written}`);
}

/**
 * {@link jsonText} with each element of the resource on a line of its own, so that some of them can be read without
 * parsing the others: see `ElementReader`. JSON has no line feeds inside strings.
 *
 * @throws as {@link jsonText}
 */
export function jsonLines(resource: AnyResource): string {
  if (hasOwnJson(resource)) return jsonText(resource);
  const lines = unlessUnwritable(resource, () => linesOf(resource));
  return unlessTooLarge(resource, lines);
}

function linesOf(resource: AnyResource): string {
  const elements = elementsOf(resource);
  // Written before decimals are looked for: that search never ends in a circular value, which JSON.stringify rejects.
  const plain = linesBy(Object.keys(elements), (name) => plainText(elements[name]));
  if (!hasDecimalText(resource)) return plain;
  return DECIMALS_MARK + linesBy(Object.keys(elements), (name) => elementText(elements, name));
}

function linesBy(names: readonly string[], textOf: (name: string) => string | undefined): string {
  let lines = '{';
  for (const name of names) lines = withLine(lines, name, textOf(name));
  return `${lines}}`;
}

/** @param text undefined: JSON leaves the element out */
function withLine(lines: string, name: string, text: string | undefined): string {
  if (text === undefined) return lines;
  const start = lineStart(name);
  return lines + (lines.length === 1 ? start.slice(1) : start) + text;
}

/** Half of the elements are short texts without escapes, and a call of `JSON.stringify` takes twice as long. */
function plainText(value: unknown): string | undefined {
  if (typeof value === 'string' && value.length < SHORT_TEXT && WITHOUT_ESCAPES.test(value)) return `"${value}"`;
  return JSON.stringify(value);
}

const SHORT_TEXT = 64;
/** Printable ASCII without `"` and the backslash. */
const WITHOUT_ESCAPES = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** The text before an element's value. Built once for each name in FHIR, about a thousand. */
function lineStart(name: string): string {
  let start = LINE_STARTS.get(name);
  if (start === undefined) {
    start = `,${ELEMENT_MARK}${JSON.stringify(name)}:`;
    if (LINE_STARTS.size < MAX_LINE_STARTS && name.length < SHORT_TEXT) LINE_STARTS.set(name, start);
  }
  return start;
}

const LINE_STARTS = new Map<string, string>();
/** Only hostile resources have other names. */
const MAX_LINE_STARTS = 4_000;

/** Any version written by JavaScript begins with a brace. */
export const DECIMALS_MARK = ' ';

/** Begins each element of {@link jsonLines}. */
export const ELEMENT_MARK = '\n';

/**
 * The resource in a text from {@link jsonText}. Its decimals are numbers. Their original digits are kept alongside and
 * survive spread, but not `structuredClone` or messages between threads, so parse the text in the thread that uses the
 * resource.
 *
 * @throws SyntaxError - not JSON
 */
export function parseJsonText(text: string): AnyResource {
  const value = JSON.parse(text) as AnyResource;
  if (text.startsWith(DECIMALS_MARK)) noteDecimals(text, value);
  return value;
}

function unlessUnwritable(resource: AnyResource, write: () => string): string {
  try {
    return write();
  } catch (cause) {
    throw unwritable(resource, cause);
  }
}

function unwritable(resource: AnyResource, cause: unknown): FhirError {
  if (cause instanceof FhirError) return cause;
  if (cause instanceof RangeError && /string length/i.test(cause.message)) return tooLarge(resource, cause);
  const where = `${resource.resourceType}/${resource.id ?? ''}`;
  return new FhirError('unprocessable', `${where} cannot be written as JSON: nested too deeply, circular or no JSON`, {
    cause,
  });
}

function unlessTooLarge(resource: AnyResource, text: string): string {
  if (isLongerThan(text, MAX_RESOURCE_BYTES + MAX_STAMP_BYTES)) throw tooLarge(resource);
  return text;
}

/** One UTF-16 unit is three bytes at most, so short texts need not be measured. */
function isLongerThan(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && byteLength(text) > bytes;
}

function tooLarge({ resourceType, id = '' }: AnyResource, cause?: unknown): FhirError {
  const message = `${resourceType}/${id} is larger than ${MAX_RESOURCE_BYTES} bytes, the most that a resource may have`;
  return new FhirError('too-costly', message, { details: { max: MAX_RESOURCE_BYTES }, cause });
}
