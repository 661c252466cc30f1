import type { PostgresClient, PostgresPool } from './driver.js';

/** The part of a PGlite database that the store uses. */
export interface PgliteDatabase {
  query(
    text: string,
    values: (string | number | null)[],
    options: { readonly rowMode: 'array' },
  ): Promise<{ readonly rows: readonly unknown[] }>;
}

/**
 * A pool over PostgreSQL within this process, which has one connection: whoever wants it waits for the one before.
 *
 * @example
 * const store = new PostgresStore(pglitePool(await PGlite.create()));
 */
export function pglitePool(database: PgliteDatabase): PostgresPool {
  let free: Promise<undefined> = Promise.resolve(undefined);
  return {
    async connect(): Promise<PostgresClient> {
      const before = free;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      free = promise;
      await before;
      return {
        async query({ text, values, rowMode }) {
          const { rows } = await database.query(text, values, { rowMode });
          return { rows: rows as readonly (readonly unknown[])[] };
        },
        release: () => resolve(undefined),
      };
    },
  };
}
