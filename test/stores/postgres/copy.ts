import { type PGlite } from '@electric-sql/pglite';
import { afterEach, describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import { pglitePool, type PostgresClient, type PostgresScriptStatement, PostgresStore } from '../../../src/postgres.js';
import type { SqlValue } from '../../../src/sqlite.js';
import { R4, type Write } from '../../../src/store.js';
import { createRandom, keyOf, put, putAll, queryOf, randomResources, resourceOf } from '../../support/kit.js';
import { parseParameter } from '../../../src/search/parse/parse-parameter.js';
import { COPY, copyInto, copyText } from '../../../src/stores/postgres/database/copy-text.js';
import { withLiterals } from '../../../src/stores/postgres/database/literals.js';
import { scriptOf } from '../../../src/stores/postgres/database/script.js';
import { toStatement } from '../../../src/stores/postgres/database/statements.js';
import { GROWING_TABLES } from '../../../src/stores/postgres/rows/table-names.js';
import { sql } from '../../../src/stores/sql/sql.js';
import { cases, SEED } from '../../support/chance.js';
import { bareDatabase, newDatabase } from './pool.js';

const DEFAULTS = { ...COPY };
afterEach(() => void Object.assign(COPY, DEFAULTS));

describe('texts in COPY and in literals', () => {
  const PIECES = [
    ...[
      '\\',
      '\\\\',
      '\\.',
      '\\N',
      '\t',
      '\n',
      '\r',
      '\r\n',
      '\0',
      '\b',
      '\f',
      '\v',
      '\u0001',
      "'",
      "''",
      '"',
      '$1',
      '?',
    ],
    ...[
      '',
      ' ',
      'a',
      'é',
      '😀',
      '\ud83d',
      '\ude00',
      '{',
      '}',
      ',',
      ';',
      '--',
      '\u2028',
      '\ufeff',
      '\\x41',
      '\\101',
      'E',
      'null',
    ],
  ];

  test(`arrive like bound values, seed ${SEED}`, async () => {
    const random = createRandom(SEED);
    const pick = (): string => PIECES[Math.floor(random() * PIECES.length)]!;
    const text = (): SqlValue => (random() < 0.05 ? null : Array.from({ length: random() * 6 }, pick).join(''));
    const rows = [...PIECES, '\\.', 'x'.repeat(70_000)].map((one): readonly SqlValue[] => [one, 'x', 0.1]);
    for (let n = 0; n < cases(2_000, 200); n++) rows.push([text(), text(), random() * 10 ** (random() * 40 - 20)]);
    rows.push(['infinite', null, Infinity], ['smallest', null, -5e-324], ['zero', null, -0]);
    const database = await bareDatabase();
    await database.exec('CREATE TABLE copied (first text, one text, two text, n float8, place serial)');
    const copy = copyInto(sql`copied`, sql`first, one, two, n`, 'a\tb\\', rows);
    const client = await pglitePool(database).connect();
    await client.script!([copy]);
    const { rows: copied } = await client.query(toStatement(sql`SELECT first, one, two, n FROM copied ORDER BY place`));
    const { rows: single } = await client.query(toStatement(sql`SELECT ${'a\tb\\'}::text`));
    expect(single).toEqual([['a\tb\\']]);
    for (const [index, whole] of rows.entries()) {
      // The driver replaces half of a surrogate pair as COPY does; PGlite's cannot send it.
      const row = whole.map((value) => (typeof value === 'string' ? value.toWellFormed() : value));
      const select = sql`SELECT 'a' || chr(9) || 'b' || chr(92), ${row[0]!}::text, ${row[1]!}::text, ${row[2]!}::float8`;
      const { rows: bound } = await client.query(toStatement(select));
      expect([index, copied[index]]).toEqual([index, bound[0]]);
      if (index > 100) continue;
      const { rows: literal } = await database.query(withLiterals(select), [], { rowMode: 'array' });
      expect([index, literal[0]]).toEqual([index, bound[0]]);
    }
    expect(copied.length).toBe(rows.length);
    client.release();
  });

  test('are sent in pieces of whole lines', () => {
    const rows = Array.from({ length: 1_000 }, (_, n) => [n, 'x'.repeat(500)]);
    const pieces = [...copyText('p', rows)];
    expect(pieces.length).toBe(8);
    for (const piece of pieces) expect(piece.endsWith('\n')).toBe(true);
    expect(pieces.join('').split('\n').length).toBe(1_001);
    expect([...copyText('p', [])]).toEqual([]);
  });
});

/** The results of commits on a store: answers, errors, changes, and every row of every table. */
async function outcome(commits: readonly (readonly Write[])[], fromRows: number): Promise<unknown> {
  COPY.fromRows = fromRows;
  const database = await newDatabase();
  let now = Date.UTC(2026, 0, 1);
  const store = new PostgresStore(pglitePool(database), { clock: () => new Date(now++), attempts: 3 });
  const projects = new Set(commits.flat().map((write) => ('key' in write ? write.key : write.query).project));
  const starts = new Map<string, string>();
  for (const project of projects) starts.set(project, (await store.changes({ project })).position);
  const answers: unknown[] = [];
  for (const writes of commits) {
    answers.push(
      await store.commit(writes).then(
        (results) => results.map((result) => JSON.stringify(result)),
        ({ code, message, details }: { code: string; message: string; details: unknown }) => [code, message, details],
      ),
    );
    now += 1_000;
  }
  const { problems } = await store.verify();
  const changes: string[][] = [];
  for (const [project, after] of starts) {
    const page = await store.changes({ project, after, limit: 10_000 });
    const ofCommits = Map.groupBy(page.changes, ({ position }) => position).values();
    for (const some of ofCommits)
      changes.push(some.map(({ kind, key, versionId }) => `${kind} ${key.id} ${versionId}`));
  }
  await store.close();
  // Rows of the feed have times and random numbers.
  const compared = GROWING_TABLES.filter(({ text }) => text !== 'fhirgraph_change');
  const tables = await Promise.all(compared.map(({ text }) => rowsOf(database, text)));
  return { answers, changes, problems, tables };
}

async function rowsOf(database: PGlite, table: string): Promise<readonly unknown[]> {
  const { rows } = await database.query<{ row: string }>(`SELECT t::text AS row FROM ${table} t`);
  return [table, ...rows.map(({ row }) => row).sort()];
}

describe('commits by COPY and by arrays', () => {
  test.each(Array.from({ length: cases(20, 1) }, (_, n) => SEED + n))('write the same rows, seed %i', async (seed) => {
    const random = createRandom(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const pool = randomResources(random).slice(0, 60);
    const commits = Array.from({ length: 8 }, (_, n) =>
      Array.from({ length: 1 + below(n === 0 ? 60 : 12) }, (): Write => {
        const resource = pool[below(pool.length)]!;
        const { id } = pool[below(pool.length)]!;
        const key = keyOf(resource.resourceType, id!, random() < 0.1 ? 'other' : undefined);
        const kind = random();
        const expectation =
          random() < 0.15 ? { expect: { version: random() < 0.5 ? null : String(1 + below(2)) } } : {};
        if (kind < 0.1) return { kind: 'delete', key, ...expectation };
        if (kind < 0.13) return { kind: 'erase', key, reason: 'asked' };
        if (kind < 0.18) return { kind: 'assert-no-match', query: queryOf(key.type, { kind: 'id', ids: [id!] }) };
        const unique = random() < 0.2 ? { unique: [`u${below(8)}`] } : {};
        return { kind: 'put', key, resource: { ...resource, id }, ...expectation, ...unique };
      }),
    );
    const [copied, asArrays] = [await outcome(commits, 1), await outcome(commits, Infinity)];
    expect(copied).toEqual(asArrays);
  });

  /** A store, and the beginnings of the statements of its scripts. */
  async function watched(): Promise<{ store: PostgresStore; scripts: string[][] }> {
    const scripts: string[][] = [];
    const pool = pglitePool(await newDatabase());
    const store = new PostgresStore({
      async connect() {
        const client = await pool.connect();
        return {
          ...client,
          query: (statement) => client.query(statement),
          script: (statements: readonly PostgresScriptStatement[]) => {
            scripts.push(statements.map(({ text }) => text.split(' (')[0]!.split(' ISO')[0]!));
            return client.script!(statements);
          },
        };
      },
    });
    return { store, scripts };
  }

  const TURN = 'WITH turn AS MATERIALIZED';

  test('a bulk commit uses COPY, a small one does not', async () => {
    const { store, scripts } = await watched();
    const patients = (from: number, count: number): readonly AnyResource[] =>
      Array.from({ length: count }, (_, n) => resourceOf('Patient', `p${from + n}`, { active: true, gender: 'other' }));
    await putAll(store, ...patients(0, 150));
    expect(scripts).toEqual([]);
    await putAll(store, ...patients(1_000, 400));
    const copies = ['COPY resource', 'INSERT INTO fhirgraph_segment_written', 'COPY token', TURN, 'COMMIT'];
    expect(scripts).toEqual([
      ['BEGIN', 'SET LOCAL jit = off', 'SET LOCAL idle_in_', 'SELECT 1 / CASE WHEN', ...copies].map((one) =>
        expect.stringContaining(one),
      ),
    ]);
    scripts.length = 0;
    // If some exist, resources are written by the statement that replaces them.
    await putAll(store, ...patients(1_200, 400));
    expect(scripts).toEqual([['COPY token', TURN, 'COMMIT']]);
    await store.close();
  });

  test('few rows with long texts are written by COPY, piece by piece', async () => {
    const { store, scripts } = await watched();
    const patient = (letter: string): AnyResource => {
      const name = Array.from({ length: 8 }, (_, n) => ({ family: `${n} ${letter.repeat(60_000)}` }));
      return resourceOf('Patient', 'p', { name });
    };
    await putAll(store, resourceOf('Patient', 'short', { name: [{ family: 'a' }] }));
    expect(scripts).toEqual([]);
    // Eight names of 60,000 characters, folded and not, are values of three parameters.
    await putAll(store, patient('a'));
    expect(scripts.map((texts) => texts.slice(-3))).toEqual([['COPY string', TURN, 'COMMIT']]);
    scripts.length = 0;
    await putAll(store, patient('b'));
    expect(scripts).toEqual([['COPY token', 'COPY string', TURN, 'COMMIT']]);
    const criteria = parseParameter(R4, 'Patient', 'family:contains', ['7 bbbb']);
    expect((await store.search(queryOf('Patient', criteria))).matches).toHaveLength(1);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  test('have no effect if one of them fails', async () => {
    COPY.fromRows = 1;
    const store = new PostgresStore(pglitePool(await newDatabase()), { attempts: 2 });
    await store.commit([put(resourceOf('Patient', 'a'), { unique: ['u'] })]);
    const writes = Array.from({ length: 30 }, (_, n) => put(resourceOf('Patient', `p${n}`, { active: true })));
    const taken = put(resourceOf('Patient', 'z'), { unique: ['u'] });
    await expect(store.commit([...writes, taken])).rejects.toMatchObject({ code: 'conflict' });
    expect((await store.search(queryOf('Patient', undefined, { limit: 0, total: true }))).total).toBe(1);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });
});

describe('a script over the protocol of pg', () => {
  interface Script {
    callback: (error?: Error | null) => void;
    submit(connection: object): void;
    handleCopyInResponse(connection: object): void;
    handleError(error: Error, connection: object): void;
    handleReadyForQuery(connection: object): void;
  }

  function clientOf(extra: object = {}): {
    client: PostgresClient;
    sent: string[];
    started: Script[];
    connection: object;
  } {
    const sent: string[] = [];
    const started: Script[] = [];
    const connection = {
      query: (text: string) => sent.push(text),
      sendCopyFromChunk: (chunk: Uint8Array) => sent.push(Buffer.from(chunk).toString()),
      endCopyFrom: () => sent.push('done'),
      sendCopyFail: (message: string) => sent.push(`fail: ${message}`),
    };
    const query = (script: Script): void => {
      started.push(script);
      script.submit(connection);
    };
    return { client: { connection, query, release() {}, ...extra } as never, sent, started, connection };
  }
  const turns = async (): Promise<void> => {
    for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
  };
  const STEPS = [
    { text: 'BEGIN' },
    { text: 'COPY a', rows: ['1\n', '2\n'] },
    { text: 'COPY b', rows: [] },
    { text: 'COMMIT' },
  ];

  test('is one message; rows follow when the server asks for them', async () => {
    const { client, sent, started, connection } = clientOf();
    const running = scriptOf(client)!(STEPS);
    expect(sent).toEqual(['BEGIN;\nCOPY a;\nCOPY b;\nCOMMIT']);
    started[0]!.handleCopyInResponse(connection);
    await turns();
    expect(sent.slice(1)).toEqual(['1\n', '2\n', 'done']);
    started[0]!.handleCopyInResponse(connection);
    expect(sent.slice(4)).toEqual(['done']);
    started[0]!.handleReadyForQuery(connection);
    await running;
  });

  test('sends no more rows once the server has refused one', async () => {
    const { client, sent, started, connection } = clientOf();
    const running = scriptOf(client)!(STEPS);
    started[0]!.handleCopyInResponse(connection);
    started[0]!.handleError(new Error('refused'), connection);
    started[0]!.handleReadyForQuery(connection);
    await expect(running).rejects.toThrow('refused');
    await turns();
    expect(sent.slice(1)).toEqual(['1\n']);
  });

  test('fails if rows cannot be created, and reports that to the server', async () => {
    const { client, sent, started, connection } = clientOf();
    const rows = (function* () {
      yield '1\n';
      throw new Error('no row');
    })();
    const running = scriptOf(client)!([{ text: 'COPY a', rows }]);
    started[0]!.handleCopyInResponse(connection);
    await expect(running).rejects.toThrow('no row');
    expect(sent.slice(1)).toEqual(['1\n', 'fail: The rows could not be made']);
  });

  test('is not used for clients without COPY, or in pipeline mode', () => {
    expect(scriptOf(clientOf({ pipeline: true }).client)).toBeUndefined();
    expect(scriptOf(clientOf({ connection: {} }).client)).toBeUndefined();
    expect(scriptOf(clientOf({ connection: undefined }).client)).toBeUndefined();
  });
});
