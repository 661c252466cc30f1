import { FhirError } from '../fhir/error.js';
import { PARSED_PARTS, parseKnownInTurns } from '../fhir/json/parse-in-turns.js';
import { inOneGo, inTurns, Pace } from '../platform/pace.js';
import type { AnyResource } from '../fhir/resource.js';
import { DECIMALS_MARK, parseJsonText } from './json-text.js';

/** Resources by their texts, one for each time that a text is read. */
type Parsed = Map<string, AnyResource[]>;

/** What was done for a read in turns with other work. */
interface Before {
  readonly parsed: Parsed;
  /** Tasks of {@link doneBefore}. */
  readonly done: ReadonlySet<string>;
}

/** What the read that runs may use; undefined if it does all itself. */
let before: Before | undefined;

/** In place of a result: the read met a long text. */
export const LONG_TEXT = Symbol('long text');

/** Runs a read that does not wait, unless it meets a text that takes long to parse. */
export function unlessLong<Result>(read: () => Result): Result | typeof LONG_TEXT {
  try {
    return after(NOTHING, read);
  } catch (error) {
    if (error instanceof Later) return LONG_TEXT;
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
  const done = new Set<string>();
  for (;;) {
    try {
      return after({ parsed: copyOf(parsed), done }, read);
    } catch (error) {
      if (!(error instanceof Later)) throw error;
      const { task, work } = error;
      const result = await work();
      if (result === undefined) done.add(task);
      else parsed.set(task, [...(parsed.get(task) ?? []), result]);
    }
  }
}

/**
 * Does work on a long text. Where a read leaves long texts to its caller, the work is done in turns, and the read runs again.
 *
 * @param task its name within the read
 */
export function doneBefore(task: string, work: () => Generator<void>): void {
  if (before === undefined) return inOneGo(work());
  if (!before.done.has(task)) throw new Later(task, () => inTurns(work(), new Pace()) as Promise<undefined>);
}

/** {@link parseJsonText}, where a read leaves long texts to its caller. */
export function parseShortText(text: string): AnyResource {
  if (before === undefined || text.length < PARSED_PARTS.long) return parseJsonText(text);
  const resource = before.parsed.get(text)?.shift();
  if (resource !== undefined) return resource;
  const hasOddDecimals = text.startsWith(DECIMALS_MARK);
  throw new Later(text, () => parseKnownInTurns(text, hasOddDecimals) as Promise<AnyResource>);
}

/** Runs a part of a read that does all work on long texts itself. */
export function parsingAtOnce<Result>(read: () => Result): Result {
  return after(undefined, read);
}

function after<Result>(done: Before | undefined, read: () => Result): Result {
  const outer = before;
  before = done;
  try {
    return read();
  } finally {
    before = outer;
  }
}

function copyOf(parsed: Parsed): Parsed {
  return new Map(Array.from(parsed, ([text, resources]) => [text, [...resources]]));
}

const NOTHING: Before = { parsed: new Map(), done: new Set() };

/** Thrown by a read that meets work to be done before. */
class Later extends FhirError {
  /** @param task the name of the work; the text, where the work parses it */
  constructor(
    readonly task: string,
    readonly work: () => Promise<AnyResource | undefined>,
  ) {
    super('internal', 'A long text is to be read in turns');
  }
}
