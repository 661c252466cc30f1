import { randomNumber } from '../../sql/random-number.js';
import type { Statements } from '../database/statements.js';

/** The entry of `meta` that changes with each commit that may decide about access, in its transaction. */
export const ACCESS_EPOCH = 'access_epoch';

/** Changes the epoch, inside a transaction. Older versions of this library count in it. */
export function changeAccessEpoch(statements: Statements): void {
  const text = `INSERT OR REPLACE INTO meta (name, value) VALUES ('${ACCESS_EPOCH}', ?)`;
  statements.write(text).run(randomNumber(60));
}
