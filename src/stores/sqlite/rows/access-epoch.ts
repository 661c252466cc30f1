import type { Statements } from '../database/statements.js';

/** The entry of `meta` that rises with each commit that may decide about access, in its transaction. */
export const ACCESS_EPOCH = 'access_epoch';

/** Raises the epoch, inside a transaction. */
export function raiseAccessEpoch(statements: Statements): void {
  const text = `INSERT INTO meta (name, value) VALUES ('${ACCESS_EPOCH}', '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1`;
  statements.write(text).run();
}
