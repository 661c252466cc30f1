import { FhirError } from '../error.js';
import { findJsonFault } from './json-fault.js';
import { parseWithDecimals } from './note-decimals.js';

/**
 * `JSON.parse` for external input: it skips a byte order mark, locates syntax errors, and remembers how decimals are
 * written. `1.00` becomes the number 1, is stored as `1.00`, and `stringifyJson` and `toHttpResponse` write it as
 * `1.00`.
 *
 * @throws FhirError `invalid` - not JSON. `details` has `line`, `column` (from 1) and `offset`. The message never
 * quotes the text, which may be clinical data.
 */
export function parseJson(text: string): unknown {
  const json = withoutMark(text);
  try {
    return parseWithDecimals(json);
  } catch (cause) {
    throw notJson(json, findJsonFault(json), cause);
  }
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

function notJson(json: string, offset: number | undefined, cause: unknown): FhirError {
  if (offset === undefined) return new FhirError('invalid', 'Not valid JSON', { cause });
  const { line, column } = positionAt(json, offset);
  const what = offset >= json.length ? 'it ends too early' : 'unexpected character';
  const where = json.includes('\n') ? `line ${line}, column ${column}` : `column ${column}`;
  return new FhirError('invalid', `Not valid JSON: ${what} at ${where}`, { details: { line, column, offset }, cause });
}

const BYTE_ORDER_MARK = 0xfeff;

function positionAt(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}
