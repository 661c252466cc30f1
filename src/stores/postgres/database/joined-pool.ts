import { FhirError } from '../../../fhir/error.js';
import type { PostgresAnswer, PostgresClient, PostgresPool, PostgresStatement } from './driver.js';
import { sqlState } from './errors.js';
import { FIRST_LOCKS } from './transaction.js';

/**
 * A pool of one connection, on which the host has a transaction open. Each use of the connection is a savepoint of that
 * transaction, so that a statement that fails, and a commit that is refused, leave the transaction as it was.
 *
 * The store's own BEGIN, COMMIT and ROLLBACK become parts of the savepoint. Uses follow each other, because statements between
 * two of the same savepoint would end with it.
 */
export class JoinedPool implements PostgresPool {
  readonly options = { max: 1 };
  #free: Promise<undefined> = Promise.resolve(undefined);

  private constructor(private readonly client: Pick<PostgresClient, 'query'>) {}

  /**
   * Joins the transaction of the host, which becomes serializable, as the store's checks need it. What a serializable
   * transaction sees is fixed by its first query. The locks must come before that.
   *
   * @throws FhirError `invalid` - no transaction is open, or a query of it came before
   */
  static async over(client: Pick<PostgresClient, 'query'>): Promise<JoinedPool> {
    try {
      await client.query(statementOf('SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE'));
      // Several statements in one message would be a transaction of their own.
      for (const { text } of FIRST_LOCKS) await client.query(statementOf(text));
    } catch (cause) {
      const known = REFUSALS.find(([state]) => state === sqlState(cause));
      if (known === undefined) throw cause;
      throw new FhirError('invalid', known[1], { cause });
    }
    return new JoinedPool(client);
  }

  async connect(): Promise<PostgresClient> {
    const before = this.#free;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#free = promise;
    await before;
    try {
      await this.client.query(statementOf('SAVEPOINT fhirgraph'));
    } catch (error) {
      resolve(undefined);
      throw error;
    }
    return this.#lent(() => resolve(undefined));
  }

  #lent(free: () => void): PostgresClient {
    let hasFailed = false;
    let isWritten = false;
    const send = async (statement: PostgresStatement): Promise<PostgresAnswer> => {
      try {
        return await this.client.query(statement);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    };
    return {
      query: async (statement) => {
        const text = partOfSavepoint(statement.text);
        if (text === '') {
          isWritten ||= statement.text === 'COMMIT';
          return NO_ROWS;
        }
        if (text === UNDO) hasFailed = false;
        return send(text === statement.text ? statement : { ...statement, text });
      },
      // In order: the host's next statement comes after it.
      release: (broken) => {
        const undoes = hasFailed || (broken === true && !isWritten);
        const end = undoes ? `${UNDO}; RELEASE SAVEPOINT fhirgraph` : 'RELEASE SAVEPOINT fhirgraph';
        // A transaction that has ended has no savepoints.
        this.client.query(statementOf(end)).then(free, free);
      },
    };
  }
}

const UNDO = 'ROLLBACK TO SAVEPOINT fhirgraph';

/** SQL states of a join that comes too early or too late. */
const REFUSALS = [
  ['25P01', 'The client has no transaction open to join'],
  ['25001', 'join must come before the first query of the transaction'],
] as const;

const NO_ROWS: PostgresAnswer = { rows: [] };

/** A statement of the store as a part of the savepoint; empty for none. */
function partOfSavepoint(text: string): string {
  if (text === 'COMMIT') return '';
  if (text === 'ROLLBACK') return UNDO;
  if (!text.startsWith('BEGIN ')) return text;
  // The settings of a read end with its ROLLBACK. Those of a write would stay.
  return / READ ONLY;/.test(text) ? text.slice(text.indexOf(';') + 1) : '';
}

function statementOf(text: string): PostgresStatement {
  return { text, values: [], rowMode: 'array' };
}
