import { Sql } from '../../sql/sql.js';

/** Only tests change it. */
export const SILENCE = {
  /** How long a process may send nothing in the middle of a transaction, in milliseconds. */
  most: 60_000,
};

/**
 * Follows BEGIN: the server ends the transaction of a process that hangs, or whose machine is gone. Its locks would keep
 * others waiting, without end or until TCP gives the connection up, by default after two hours.
 */
export function endsWhenSilent(): Sql {
  return new Sql(`SET LOCAL idle_in_transaction_session_timeout = ${SILENCE.most}`, []);
}
