import type { PGlite } from '@electric-sql/pglite';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  pglitePool,
  type PostgresClient,
  type PostgresPool,
  type PostgresStatement,
  PostgresStore,
} from '../../../src/postgres.js';
import type { Criteria, SortKey } from '../../../src/store.js';
import { createRandom, PROJECT, put, putAll, queryOf, resourceOf } from '../../support/kit.js';
import { Connections } from '../../../src/stores/postgres/database/connections.js';
import type { Row } from '../../../src/stores/postgres/database/lent-connection.js';
import { numbered, prepared } from '../../../src/stores/postgres/database/statements.js';
import { Sql, sql } from '../../../src/stores/sql/sql.js';
import { skewedResources } from '../../../src/testing/suites/random-searches.js';
import { bareDatabase } from './pool.js';
import { IS_WHOLE } from '../../support/chance.js';
import type { PlanNode } from '../plan-node.js';

type Named = PostgresStatement & { readonly name: string };

/** A connection like that of `pg`, with the part that knows the prepared statements. */
class FakeConnection {
  readonly parsedStatements: { [name: string]: unknown } = {};
  readonly closed: string[] = [];
  /** Errors of the next named statements, by the server's code. */
  readonly failures: string[] = [];
  readonly sent: PostgresStatement[] = [];

  close({ name }: { readonly name: string }): void {
    this.closed.push(name);
  }

  send(statement: PostgresStatement): void {
    this.sent.push(statement);
    if (statement.name === undefined) return;
    const code = this.failures.shift();
    if (code !== undefined) throw Object.assign(new Error(code), { code, severity: 'ERROR' });
    this.parsedStatements[statement.name] = statement.text;
  }
}

/** A pool of one connection that answers nothing. */
function fakePool(connection: object): PostgresPool {
  const client: PostgresClient = {
    connection,
    query: async (statement) => {
      if (connection instanceof FakeConnection) connection.send(statement);
      return { rows: [[statement.name ?? 'none']] };
    },
    release: () => undefined,
  };
  return { connect: async () => client };
}

const WAITS = { connectionWait: 1_000, cancelWait: 1_000 };
const one = prepared(sql`SELECT ${1}`);

/** Runs a statement so often, and returns the last name. */
async function askTimes(connections: Connections, statement: Sql, times: number): Promise<unknown> {
  let rows: readonly Row[] = [];
  for (let count = 0; count < times; count++) rows = await connections.run(statement);
  return rows[0]![0];
}

const isName = expect.stringMatching(/^fhirgraph_[0-9a-f]{32}$/) as unknown;

describe('a prepared statement', () => {
  test('runs often, and one name is one text in all stores', async () => {
    const names = await Promise.all(
      [1, 2].map(async () => {
        const connections = new Connections(fakePool(new FakeConnection()), { ...WAITS, preparedStatements: true });
        expect(await askTimes(connections, one, 2)).toBe('none');
        const name = await askTimes(connections, one, 1);
        expect(name).toEqual(isName);
        expect(await askTimes(connections, prepared(sql`SELECT ${'1'}`), 3)).toBe(name);
        expect(await askTimes(connections, prepared(sql`SELECT 1, ${1}`), 3)).not.toBe(name);
        return name;
      }),
    );
    expect(names[0]).toBe(names[1]);
  });

  test.each<[string, object, boolean, Sql]>([
    ['where the host says so', new FakeConnection(), false, one],
    ['of a statement that is not worth it', new FakeConnection(), true, sql`SELECT ${1}`],
    ['of long texts', new FakeConnection(), true, prepared(sql`SELECT ${new Sql(' '.repeat(16_000), [])} ${1}`)],
    ['over another driver', {}, true, one],
  ])('does not exist %s', async (_, connection, preparedStatements, statement) => {
    const connections = new Connections(fakePool(connection), { ...WAITS, preparedStatements });
    expect(await askTimes(connections, statement, 5)).toBe('none');
  });

  test('does not exist within a transaction, which a lost name would end', async () => {
    const connections = new Connections(fakePool(new FakeConnection()), { ...WAITS, preparedStatements: true });
    await askTimes(connections, one, 3);
    expect(await connections.snapshot((run) => run(one))).toEqual([['none']]);
  });

  test('is bounded: of many texts each connection keeps the last used', async () => {
    const connection = new FakeConnection();
    const connections = new Connections(fakePool(connection), { ...WAITS, preparedStatements: true });
    const used = await askTimes(connections, one, 3);
    const names: unknown[] = [];
    for (let count = 0; count < 60; count++) {
      names.push(await askTimes(connections, prepared(new Sql(`SELECT ${count}, ?`, [1])), 3));
      expect(await askTimes(connections, one, 1)).toBe(used);
    }
    expect(connection.closed).toEqual(names.slice(0, 11));
    expect(Object.keys(connection.parsedStatements).toSorted()).toEqual([used, ...names.slice(11)].toSorted());
    // Of long texts, fewer.
    for (let count = 0; count < 20; count++) {
      await askTimes(connections, prepared(new Sql(`SELECT ${count}, ?${' '.repeat(7_900)}`, [1])), 3);
    }
    expect(Object.keys(connection.parsedStatements).length).toBe(12);
  });
});

describe('a name that the server has lost', () => {
  test.each(['26000', '42P05', '0A000'])('costs one more statement (%s)', async (code) => {
    const connection = new FakeConnection();
    const connections = new Connections(fakePool(connection), { ...WAITS, preparedStatements: true });
    const name = await askTimes(connections, one, 3);
    const other = await askTimes(connections, prepared(sql`SELECT 2, ${1}`), 3);
    connection.failures.push(code);
    connection.sent.length = 0;
    expect(await askTimes(connections, one, 1)).toBe('none');
    expect(connection.sent.map((statement) => statement.name)).toEqual([name, undefined]);
    // A changed plan affects one statement; a lost session loses all.
    expect(Object.keys(connection.parsedStatements)).toEqual(code === '0A000' ? [other] : []);
    expect(await askTimes(connections, one, 1)).toBe(name);
  });

  test('does not make other failed statements run again', async () => {
    const connection = new FakeConnection();
    const connections = new Connections(fakePool(connection), { ...WAITS, preparedStatements: true });
    await askTimes(connections, one, 3);
    for (const code of ['22012', '57014', '40001', '08006']) {
      connection.failures.push(code);
      connection.sent.length = 0;
      await expect(connections.run(one)).rejects.toMatchObject({ code });
      expect(connection.sent.length).toBe(1);
    }
  });

  test('that is lost repeatedly fails', async () => {
    const connection = new FakeConnection();
    const connections = new Connections(fakePool(connection), { ...WAITS, preparedStatements: true });
    await askTimes(connections, one, 2);
    connection.failures.push(...Array.from({ length: 100 }, () => '26000'));
    for (let count = 0; count < 30; count++) await connections.run(one);
    expect(connection.failures.length).toBe(90);
  });
});

/** The nodes of two plans of one statement. */
interface Plans {
  readonly ofThese: readonly PlanNode[];
  readonly ofAll: readonly PlanNode[];
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Rows of tables and indexes that were read. */
function examined(nodes: readonly PlanNode[]): number {
  const read = nodes.filter((node) => 'Relation Name' in node || 'Index Name' in node);
  return read.reduce(
    (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  );
}

/** A pool that notes statements with names, which it runs without. */
function noting(pool: PostgresPool, statements: Named[]): PostgresPool {
  return {
    ...pool,
    async connect() {
      const client = await pool.connect();
      return {
        connection: new FakeConnection(),
        query: async (statement) => {
          if (statement.name !== undefined) statements.push(statement as Named);
          return client.query(statement);
        },
        release: (broken) => client.release(broken),
      };
    },
  };
}

const ALL: Criteria = { kind: 'all' };
const match = (parameter: string, test: Extract<Criteria, { kind: 'match' }>['test']): Criteria => ({
  kind: 'match',
  parameter,
  test,
});
const status = (code: string): Criteria => match('status', { kind: 'token', code });
const subject = (id: string): Criteria => match('subject', { kind: 'reference', types: ['Patient'], id });
const since = (low: number): Criteria => match('date', { kind: 'date', prefix: 'ge', low, high: low + 86_400_000 });
const and = (...of: readonly Criteria[]): Criteria => ({ kind: 'and', of });
const BY_DATE: readonly SortKey[] = [{ parameter: 'date', descending: true }];

// The server makes a generic plan after five executions, if it looks as good as plans for single values. So it is
// created here, and executed with the values that nearly all resources have.
describe.runIf(IS_WHOLE)('a generic plan', () => {
  const COUNT = 3_000;
  const statements: Named[] = [];
  let database: PGlite;
  let store: PostgresStore;

  beforeAll(async () => {
    database = await bareDatabase();
    store = new PostgresStore(noting(pglitePool(database), statements));
    const writes = skewedResources(COUNT, createRandom(1)).map((resource) => put(resource));
    for (let start = 0; start < COUNT; start += 300) await store.commit(writes.slice(start, start + 300));
    // Small projects, so that an average shows nothing about the large project.
    for (let project = 0; project < 40; project++) {
      const resources = skewedResources(5, createRandom(project));
      await store.commit(
        resources.map((resource) => {
          const { key, ...rest } = put(resource);
          return { ...rest, key: { ...key, project: `small-${project}` } };
        }),
      );
    }
  });

  /** The nodes of the last prepared statement, executed with its values: by a plan for them, and by a generic plan. */
  async function plansOf(work: () => Promise<unknown>, how = 'ANALYZE, TIMING OFF,'): Promise<Plans> {
    for (let count = 0; count < 5; count++) {
      statements.length = 0;
      await work();
    }
    const statement = statements.at(-1)!;
    return { ofThese: await planOf(statement, 'custom', how), ofAll: await planOf(statement, 'generic', how) };
  }

  async function planOf(
    { text, values }: Named,
    kind: 'custom' | 'generic',
    how: string,
  ): Promise<readonly PlanNode[]> {
    await database.exec(`BEGIN; SET LOCAL plan_cache_mode = force_${kind}_plan; PREPARE asked AS ${text}`);
    try {
      const literals = values.map((value) => (value === null ? 'NULL' : `'${String(value).replaceAll("'", "''")}'`));
      const { rows } = await database.query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
        `EXPLAIN (${how} FORMAT JSON) EXECUTE asked(${literals.join(',')})`,
      );
      return nodesOf(rows[0]!['QUERY PLAN'][0].Plan);
    } finally {
      await database.exec('ROLLBACK; DEALLOCATE asked');
    }
  }

  describe.each(['without statistics', 'with statistics', 'of a fifth more since'])('%s', (when) => {
    beforeAll(async () => {
      if (when === 'with statistics') await database.exec('VACUUM (ANALYZE)');
      if (when !== 'of a fifth more since') return;
      const later = skewedResources(COUNT / 5, createRandom(2));
      await store.commit(later.map((one) => put({ ...one, id: `later-${one.id}` })));
    });

    test.each<[string, Criteria, readonly SortKey[]]>([
      ['a frequent status', status('final'), []],
      ['a frequent status, by date', status('final'), BY_DATE],
      ['references to one resource', subject('most'), BY_DATE],
      ['of two conditions that many meet', and(subject('most'), status('final')), BY_DATE],
      ['of three', and(subject('most'), status('final'), since(Date.UTC(2020, 0, 1))), BY_DATE],
      ['a frequent and a rare condition', and(status('final'), subject('p1')), BY_DATE],
      ['since a date', since(Date.UTC(2020, 0, 1)), []],
    ])('for the first statement of %s reads no more than a plan for its values', async (_, criteria, sort) => {
      const { ofThese, ofAll } = await plansOf(() =>
        store.search(queryOf('Observation', criteria, { sort, limit: 10 })),
      );
      expect(examined(ofAll)).toBeLessThan(1.1 * examined(ofThese) + 100);
    });

    test('for pages by reference reads the references to each target', async () => {
      const targets = ['p1', 'p2', 'p3'].map((id) => ({ type: 'Patient', id }));
      const query = queryOf('Observation', ALL, { limit: 10 });
      const { ofThese, ofAll } = await plansOf(() => store.searchByReference(query, 'subject', targets));
      expect(ofAll.map((node) => node['Relation Name'])).toContain('reference');
      expect(examined(ofAll)).toBeLessThan(1.1 * examined(ofThese) + 100);
    });

    test('for reads of resources uses their keys', async () => {
      const keys = Array.from({ length: 4 }, (_, n) => ({ project: PROJECT, type: 'Observation', id: `o000${n}` }));
      const { ofAll } = await plansOf(() => store.read(keys));
      expect(examined(ofAll)).toBeLessThan(5);
    });

    test('for writes reads the rows of their resources', async () => {
      let count = 0;
      const write = (): Promise<unknown> => putAll(store, resourceOf('Patient', 'p1', { active: count++ % 2 === 0 }));
      // A version is written once.
      const { ofThese, ofAll } = await plansOf(write, '');
      expect(ofAll.map(({ 'Index Name': name }) => name)).toContain('token_by_resource');
      expect(scansIn(ofAll)).toEqual(scansIn(ofThese));
    });
  });
});

function scansIn(nodes: readonly PlanNode[]): readonly string[] {
  const scans = nodes.filter((node) => 'Relation Name' in node || 'Index Name' in node);
  return scans.map((node) => [node['Node Type'], node['Relation Name'], node['Index Name']].join(' '));
}

test('has numbered placeholders', () => {
  expect(numbered('SELECT ?, ?')).toBe('SELECT $1, $2');
});
