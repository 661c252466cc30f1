import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { PostgresClient, PostgresStatement } from './driver.js';
import { sqlState } from './errors.js';
import { boundValues, numbered, type PreparedSql } from './statements.js';

/** A text that was sent before. */
interface KnownText {
  readonly numbered: string;
  /** Undefined until the text has come often enough. */
  name: string | undefined;
  times: number;
}

/**
 * Decides which statements the connections of a pool keep prepared. The server then does not parse them and mostly does
 * not plan them, which saves more than half of its time for a short statement.
 *
 * - A name is a hash of its text. So a name means the same in all processes, also behind a pooler that shares the
 *   server's connections among them.
 * - Each connection keeps the statements used last, up to {@link MAX_KEPT}. Long texts, and texts that come once or
 *   twice, are not prepared.
 * - The server may have lost a statement, or have it already: a pooler has changed the connection, or the host has run
 *   `DISCARD ALL`. Then the statement had no effect, and the caller runs it without a name.
 */
export class PreparedStatements {
  readonly #texts = new LRUCache<string, KnownText>({ max: MAX_TEXTS });
  readonly #kept = new WeakMap<PreparingConnection, LRUCache<string, number>>();
  #losses = 0;

  /** The statement with its name; undefined if it should run without one. */
  named(client: PostgresClient, { text, values }: PreparedSql): (PostgresStatement & { name: string }) | undefined {
    const { connection } = client;
    if (!isPreparing(connection) || text.length > MAX_LENGTH || this.#losses >= MAX_LOSSES) return undefined;
    let known = this.#texts.get(text);
    if (known === undefined) this.#texts.set(text, (known = { numbered: numbered(text), name: undefined, times: 0 }));
    known.times += 1;
    if (known.times < MIN_TIMES) return undefined;
    known.name ??= `fhirgraph_${hash('sha256', text, 'hex').slice(0, 32)}`;
    this.#keep(connection, known.name, text.length);
    return { name: known.name, text: known.numbered, values: boundValues(values), rowMode: 'array' };
  }

  /** Whether a named statement failed only because of its name, and so had no effect. */
  isLost(client: PostgresClient, { name }: { readonly name: string }, error: unknown): boolean {
    const state = sqlState(error);
    const { connection } = client;
    if (state === undefined || !LOST.has(state) || !isPreparing(connection)) return false;
    if (state === PLAN_CHANGED) this.#kept.get(connection)?.delete(name);
    else {
      // The other statements are lost too.
      this.#losses += 1;
      for (const one of this.#kept.get(connection)?.keys() ?? []) forget(connection, one);
      this.#kept.delete(connection);
    }
    return true;
  }

  #keep(connection: PreparingConnection, name: string, length: number): void {
    let kept = this.#kept.get(connection);
    if (kept === undefined) {
      kept = new LRUCache({
        max: MAX_KEPT,
        maxSize: MAX_CHARACTERS,
        sizeCalculation: (size) => size,
        dispose: (_, oldest, reason) => reason !== 'set' && close(connection, oldest),
      });
      this.#kept.set(connection, kept);
    }
    if (kept.get(name) === undefined) kept.set(name, length);
  }
}

/** The part of the connection of a `pg` Client that knows what is prepared. */
interface PreparingConnection {
  readonly parsedStatements: { [name: string]: unknown };
  close(what: { readonly type: 'S'; readonly name: string }): void;
}

function isPreparing(connection: object | undefined): connection is PreparingConnection {
  const { parsedStatements, close } = (connection ?? {}) as Partial<PreparingConnection>;
  return typeof parsedStatements === 'object' && typeof close === 'function';
}

/** The message goes out with the next statement, and is answered with it. An unknown name is not an error. */
function close(connection: PreparingConnection, name: string): void {
  forget(connection, name);
  connection.close({ type: 'S', name });
}

function forget({ parsedStatements }: PreparingConnection, name: string): void {
  delete parsedStatements[name];
}

/** feature_not_supported: "cached plan must not change result type". */
const PLAN_CHANGED = '0A000';

/** invalid_sql_statement_name (it does not exist), duplicate_prepared_statement. */
const LOST: ReadonlySet<string> = new Set(['26000', '42P05', PLAN_CHANGED]);

/** After this many losses, the pool is believed to share connections among sessions. */
const MAX_LOSSES = 10;

/** How often a text must have come to be prepared. */
const MIN_TIMES = 3;

/** Maximum statements of each connection. */
const MAX_KEPT = 50;

/** Maximum characters of their texts together; each takes about 150 bytes of the server's memory. */
const MAX_CHARACTERS = 100_000;

/** Maximum characters of a text that is prepared. */
const MAX_LENGTH = 16_000;

/** Maximum texts that are counted. */
const MAX_TEXTS = 500;
