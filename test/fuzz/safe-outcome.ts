import { ERROR_CODES, FhirError, type FhirGraphqlResult } from '../../src/index.js';

/** The name of every person in the resources of these tests. No error may contain it. */
export const CANARY = 'Kanarienvogel';

/** Typical texts of errors of the engine, the driver and the database. */
const INTERNAL =
  /\\n\s+at |node_modules|\.[cm]?[jt]s:\d|(?:Type|Range|Reference|Syntax|Sqlite)Error|SQLITE|[Cc]annot read prop|is not a function|is not iterable|call stack|no such (?:table|column)|constraint failed|in JSON at/;

/** Messages of automatic persisted queries. */
const WIRE_CODES: ReadonlySet<string> = new Set(['PERSISTED_QUERY_NOT_FOUND', 'PERSISTED_QUERY_NOT_SUPPORTED']);

/** Codes that no input may cause: they are faults of the library or the disk. */
const OUR_FAULT: ReadonlySet<string> = new Set(['internal', 'corrupt', 'unavailable']);

/**
 * The outcome of a call: its result, or the code of its error.
 *
 * @throws Error - a client must not see the error
 */
export async function outcomeOf<Result>(call: () => Result | Promise<Result>): Promise<Result | { code: string }> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof FhirError)) throw new Error('Rejected with what is not a FhirError', { cause: error });
    assertSafe(error.code, [error.toJSON(), error.outcome], error.cause ?? error);
    return { code: error.code };
  }
}

/**
 * The data of an answer, and the position and code of each error.
 *
 * @throws Error - a client must not see an error
 */
export function answerOf({ data, errors = [] }: FhirGraphqlResult): object {
  return {
    data,
    errors: errors.map(({ extensions, path, locations, message }) => {
      assertSafe(extensions.code, [message, extensions]);
      return { code: extensions.code, path, locations };
    }),
  };
}

/**
 * @param told everything that the client receives
 * @param cause the original error, for the person who debugs it
 */
export function assertSafe(code: string, told: unknown, cause?: unknown): void {
  const text = JSON.stringify(told);
  const fault =
    !Object.hasOwn(ERROR_CODES, code) && !WIRE_CODES.has(code)
      ? 'A code that is none'
      : OUR_FAULT.has(code)
        ? 'Our fault'
        : INTERNAL.test(text)
          ? 'An internal message'
          : text.includes(CANARY)
            ? 'A clinical value in an error'
            : undefined;
  if (fault !== undefined) throw new Error(`${fault}: ${code} ${text}`, { cause });
}
