import { crc32 } from 'node:zlib';
import { FhirError } from '../fhir/error.js';

/** Texts read from a file, and how many of its bytes they took. */
export interface ReadLines {
  readonly lines: readonly { readonly text: string; readonly bytes: number }[];
  /** Lines that are not as they were written, left out. */
  readonly damaged: number;
}

const SUM_LENGTH = 8;
const NEWLINE = 0x0a;

/**
 * A line per text: the CRC-32 of the text in hex, a space, the text.
 *
 * @throws FhirError `invalid` - a text with a line feed, which JSON never needs
 */
export function linesOf(texts: readonly string[]): Buffer {
  let joined = '';
  for (const text of texts) {
    if (typeof text !== 'string' || text.includes('\n'))
      throw new FhirError('invalid', 'A line is text without line feed');
    joined += `${crc32(text).toString(16).padStart(SUM_LENGTH, '0')} ${text}\n`;
  }
  return Buffer.from(joined);
}

/** The complete lines at the start of these bytes. The bytes of a damaged line count as those of the line after it. */
export function readLines(bytes: Buffer, limit: number): ReadLines {
  const lines: { text: string; bytes: number }[] = [];
  let damaged = 0;
  let counted = 0;
  for (let start = 0; lines.length < limit;) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end < 0) break;
    const text = bytes.toString('utf8', start + SUM_LENGTH + 1, end);
    const sum = bytes.toString('latin1', start, start + SUM_LENGTH);
    start = end + 1;
    if (sum === crc32(text).toString(16).padStart(SUM_LENGTH, '0')) {
      lines.push({ text, bytes: start - counted });
      counted = start;
    } else damaged += 1;
  }
  return { lines, damaged };
}
