import { nextTurn } from '../../../platform/runtime.js';
import type { PostgresClient, PostgresScriptStatement } from './driver.js';

/** Runs statements without values, of which some may be `COPY … FROM STDIN`. */
export type RunScript = (statements: readonly PostgresScriptStatement[]) => Promise<unknown>;

/** How a client runs scripts; undefined if it cannot. */
export function scriptOf(client: PostgresClient): RunScript | undefined {
  if (client.script !== undefined) return (statements) => client.script!(statements);
  const { connection, pipeline } = client as PostgresClient & { readonly pipeline?: unknown };
  if (pipeline === true || !isCopying(connection)) return undefined;
  return (statements) => {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const script = new Script(statements, (error) => (error == null ? resolve(undefined) : reject(error)));
    // The callback receives its answer.
    void client.query(script as never);
    return promise;
  };
}

/** The part of the connection of a `pg` Client that sends the rows of COPY. */
interface CopyingConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Uint8Array): void;
  sendCopyFail(message: string): void;
  endCopyFrom(): void;
}

function isCopying(connection: object | undefined): connection is CopyingConnection {
  const { query, sendCopyFromChunk, sendCopyFail, endCopyFrom } = (connection ?? {}) as Partial<CopyingConnection>;
  return [query, sendCopyFromChunk, sendCopyFail, endCopyFrom].every((method) => typeof method === 'function');
}

/**
 * One message of several statements, as `pg` takes it: its Client passes the server's answers to this object. A
 * statement that fails ends the message.
 *
 * See https://node-postgres.com/apis/client#clientquery and
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY.
 */
class Script {
  /** Called once by this object; `pg` replaces it if it limits the time of queries. */
  callback: (error?: Error | null) => void;
  readonly #text: string;
  readonly #copies: Iterator<Iterable<string>>;
  #ended = false;

  constructor(statements: readonly PostgresScriptStatement[], callback: (error?: Error | null) => void) {
    this.#text = statements.map(({ text }) => text).join(';\n');
    this.#copies = statements.flatMap(({ rows }) => (rows === undefined ? [] : [rows])).values();
    this.callback = callback;
  }

  submit(connection: CopyingConnection): void {
    connection.query(this.#text);
  }

  handleCopyInResponse(connection: CopyingConnection): void {
    const { value, done } = this.#copies.next();
    if (done === true) connection.sendCopyFail('There are no rows');
    else void this.#send(connection, value);
  }

  handleError(error: Error): void {
    this.#ended = true;
    this.callback(error);
  }

  handleReadyForQuery(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.callback(null);
  }

  handleRowDescription(): void {
    // Answers are not read.
  }

  handleDataRow(): void {
    // Rows are not read.
  }

  handleCommandComplete(): void {
    // The next statement follows by itself.
  }

  handleEmptyQuery(): void {
    // Nothing to do.
  }

  handlePortalSuspended(): void {
    // Only for prepared statements.
  }

  handleCopyData(): void {
    // Only for COPY … TO.
  }

  /** Other work of the process runs between pieces. */
  async #send(connection: CopyingConnection, rows: Iterable<string>): Promise<void> {
    try {
      let isFirst = true;
      for (const piece of rows) {
        if (!isFirst) await nextTurn();
        if (this.#ended) return;
        isFirst = false;
        connection.sendCopyFromChunk(Buffer.from(piece));
      }
      connection.endCopyFrom();
    } catch (error) {
      connection.sendCopyFail('The rows could not be made');
      this.handleError(error as Error);
    }
  }
}
