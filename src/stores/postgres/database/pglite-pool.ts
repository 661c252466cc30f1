import type { PostgresClient, PostgresPool, PostgresScriptStatement } from './driver.js';

/** The part of a PGlite database that the store uses. */
export interface PgliteDatabase {
  query(
    text: string,
    values: (string | number | null)[],
    options: { readonly rowMode: 'array'; readonly blob?: Blob },
  ): Promise<{ readonly rows: readonly unknown[] }>;
}

/**
 * A pool over PostgreSQL within this process, with a single connection, lent in order of request.
 *
 * @example
 * const store = new PostgresStore(pglitePool(await PGlite.create()));
 */
export function pglitePool(database: PgliteDatabase): PostgresPool {
  let free: Promise<undefined> = Promise.resolve(undefined);
  return {
    options: { max: 1 },
    async connect(): Promise<PostgresClient> {
      const before = free;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      free = promise;
      await before;
      let last: Promise<unknown> = before;
      return {
        async query({ text, values, rowMode }) {
          const answer = queryEach(database, text, values, rowMode);
          last = answer;
          const { rows } = await answer;
          return { rows: rows as readonly (readonly unknown[])[] };
        },
        async script(statements) {
          const running = runScript(database, statements);
          last = running;
          await running;
        },
        release(broken) {
          // There is no other connection: abandoned work ends, and so does its transaction or that of a statement that failed,
          // before the next call.
          const rollBack = (): unknown => database.query('ROLLBACK', [], { rowMode: 'array' });
          void last
            .then(() => (broken === true ? rollBack() : undefined), rollBack)
            .catch(ignore)
            .then(() => resolve(undefined));
        },
      };
    },
  };
}

/** PGlite runs one statement at a time. Multi-statement texts have no values, and their results are ignored. */
async function queryEach(
  database: PgliteDatabase,
  text: string,
  values: (string | number | null)[],
  rowMode: 'array',
): Promise<{ readonly rows: readonly unknown[] }> {
  if (values.length > 0) return database.query(text, values, { rowMode });
  let answer: { readonly rows: readonly unknown[] } = { rows: [] };
  for (const one of text.split(';')) answer = await database.query(one, values, { rowMode });
  return answer;
}

/** PGlite reads the rows of COPY from a file with this name. */
async function runScript(database: PgliteDatabase, statements: readonly PostgresScriptStatement[]): Promise<void> {
  for (const { text, rows } of statements) {
    if (rows === undefined) await queryEach(database, text, [], 'array');
    else {
      const copy = text.replace(/FROM STDIN$/, "FROM '/dev/blob'");
      await database.query(copy, [], { rowMode: 'array', blob: new Blob([...rows]) });
    }
  }
}

function ignore(): undefined {
  return undefined;
}
