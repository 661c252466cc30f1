import { FhirError } from '../fhir/error.js';
import { PARSED_PARTS, parseKnownInTurns } from '../fhir/json/parse-in-turns.js';
import type { AnyResource } from '../fhir/resource.js';
import { DECIMALS_MARK, parseJsonText } from './json-text.js';

/** Resources by their texts, one for each time that a text is read. */
type Parsed = Map<string, AnyResource[]>;

/** What the read that runs may use; undefined if it parses long texts itself. */
let parsedBefore: Parsed | undefined;

/** In place of a result: the read met a long text. */
export const LONG_TEXT = Symbol('long text');

/** Runs a read that does not wait, unless it meets a text that takes long to parse. */
export function unlessLong<Result>(read: () => Result): Result | typeof LONG_TEXT {
  try {
    return withParsed(NOTHING, read);
  } catch (error) {
    if (LONG_TEXTS.has(error as object)) return LONG_TEXT;
    throw error;
  }
}

/**
 * Runs a read that does not wait. A long text that it meets is parsed in turns with other work, and then it runs again.
 *
 * @returns a promise only where there is a long text
 */
export function whenParsed<Result>(read: () => Result): Result | Promise<Result> {
  const result = unlessLong(read);
  return result === LONG_TEXT ? parsingInTurns(read) : result;
}

async function parsingInTurns<Result>(read: () => Result): Promise<Result> {
  const parsed: Parsed = new Map();
  for (;;) {
    try {
      return withParsed(copyOf(parsed), read);
    } catch (error) {
      const text = LONG_TEXTS.get(error as object);
      if (text === undefined) throw error;
      const resource = (await parseKnownInTurns(text, text.startsWith(DECIMALS_MARK))) as AnyResource;
      parsed.set(text, [...(parsed.get(text) ?? []), resource]);
    }
  }
}

/** {@link parseJsonText}, where a read leaves long texts to its caller. */
export function parseShortText(text: string): AnyResource {
  if (parsedBefore === undefined || text.length < PARSED_PARTS.long) return parseJsonText(text);
  const resource = parsedBefore.get(text)?.shift();
  if (resource !== undefined) return resource;
  const error = new FhirError('internal', 'A long text is to be parsed in turns');
  LONG_TEXTS.set(error, text);
  throw error;
}

/** Runs a part of a read that parses long texts itself. */
export function parsingAtOnce<Result>(read: () => Result): Result {
  return withParsed(undefined, read);
}

function withParsed<Result>(parsed: Parsed | undefined, read: () => Result): Result {
  const before = parsedBefore;
  parsedBefore = parsed;
  try {
    return read();
  } finally {
    parsedBefore = before;
  }
}

function copyOf(parsed: Parsed): Parsed {
  return new Map(Array.from(parsed, ([text, resources]) => [text, [...resources]]));
}

const NOTHING: Parsed = new Map();
const LONG_TEXTS = new WeakMap<object, string>();
