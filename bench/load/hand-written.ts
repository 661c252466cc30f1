import type Database from 'better-sqlite3';
import type { Pool } from 'pg';

/** A written Observation: the elements that the hand-written searches need. */
export interface WrittenObservation {
  readonly id: string;
  readonly status: string;
  readonly code: { readonly coding: readonly { readonly system: string; readonly code: string }[] };
  readonly subject: { readonly reference: string };
  readonly effectiveDateTime: string;
}

/** The operations of a hand-written service other than reading. */
export interface HandWritten {
  /** Whether the owner of a token is an active member of the project. */
  isMember(user: string): boolean | Promise<boolean>;
  write(resource: WrittenObservation): unknown;
}

/** The user that the tokens of the hand-written service name. */
export const HAND_USER = 'User/ada';

/**
 * The promises of a hand-written service.
 *
 * - `bare`: everybody with a token may do everything; a write is one row.
 * - `equal`: the membership of the user is read with each request. A write is the resource, a row of its history, and the
 *   index rows of subject, code, status and date, in one transaction. No access policies, and no other search parameters.
 */
export type Promises = 'bare' | 'equal';

export function handWrittenSqlite(database: Database.Database, project: string, promises: Promises): HandWritten {
  database.exec(TABLES);
  if (promises === 'bare') {
    const insert = database.prepare('INSERT INTO bench_written (id, content) VALUES (?, ?)');
    return { isMember: () => true, write: (resource) => insert.run(resource.id, JSON.stringify(resource)) };
  }
  database.prepare('INSERT OR IGNORE INTO bench_member VALUES (?, ?, 1)').run(project, HAND_USER);
  const member = database.prepare('SELECT active FROM bench_member WHERE project = ? AND user_id = ?').pluck();
  const resources = database.prepare('INSERT INTO bench_resource (project, type, id, content) VALUES (?, ?, ?, ?)');
  const history = database.prepare(
    'INSERT INTO bench_history (project, type, id, version, content) VALUES (?, ?, ?, 1, ?)',
  );
  const index = database.prepare('INSERT INTO bench_index (project, type, name, value, id) VALUES (?, ?, ?, ?, ?)');
  const write = database.transaction((resource: WrittenObservation) => {
    const text = JSON.stringify(resource);
    resources.run(project, TYPE, resource.id, text);
    history.run(project, TYPE, resource.id, text);
    for (const [name, value] of valuesOf(resource)) index.run(project, TYPE, name, value, resource.id);
  });
  return { isMember: (user) => member.get(project, user) === 1, write: (resource) => write.immediate(resource) };
}

export async function handWrittenPostgres(pool: Pool, project: string, promises: Promises): Promise<HandWritten> {
  for (const statement of TABLES.split(';')) await pool.query(statement);
  if (promises === 'bare') {
    const insert = 'INSERT INTO bench_written (id, content) VALUES ($1, $2)';
    return {
      isMember: () => true,
      write: (resource) => pool.query(insert, [resource.id, JSON.stringify(resource)]),
    };
  }
  await pool.query('INSERT INTO bench_member VALUES ($1, $2, 1) ON CONFLICT DO NOTHING', [project, HAND_USER]);
  return {
    async isMember(user) {
      const text = 'SELECT active FROM bench_member WHERE project = $1 AND user_id = $2';
      const { rows } = await pool.query<{ active: number }>({ name: 'member', text, values: [project, user] });
      return rows[0]?.active === 1;
    },
    async write(resource) {
      const content = JSON.stringify(resource);
      const values = valuesOf(resource);
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await client.query({
          name: 'resource',
          text: 'INSERT INTO bench_resource (project, type, id, content) VALUES ($1, $2, $3, $4)',
          values: [project, TYPE, resource.id, content],
        });
        await client.query({
          name: 'history',
          text: 'INSERT INTO bench_history (project, type, id, version, content) VALUES ($1, $2, $3, 1, $4)',
          values: [project, TYPE, resource.id, content],
        });
        await client.query({
          name: 'index',
          text: `INSERT INTO bench_index (project, type, name, value, id)
            SELECT $1, $2, u.name, u.value, $5 FROM unnest($3::text[], $4::text[]) AS u (name, value)`,
          values: [project, TYPE, values.map(([name]) => name), values.map(([, value]) => value), resource.id],
        });
        await client.query('COMMIT');
        client.release();
      } catch (error) {
        client.release(true);
        throw error;
      }
    },
  };
}

const TYPE = 'Observation';

/** The index rows of an Observation. */
function valuesOf({ status, code, subject, effectiveDateTime }: WrittenObservation): [name: string, value: string][] {
  return [
    ['status', status],
    ['subject', subject.reference],
    ['date', effectiveDateTime],
    ...code.coding.map((coding): [string, string] => ['code', `${coding.system}|${coding.code}`]),
  ];
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS bench_written (id text PRIMARY KEY, content text);
  CREATE TABLE IF NOT EXISTS bench_member (
    project text, user_id text, active int, PRIMARY KEY (project, user_id));
  CREATE TABLE IF NOT EXISTS bench_resource (
    project text, type text, id text, content text, PRIMARY KEY (project, type, id));
  CREATE TABLE IF NOT EXISTS bench_history (
    project text, type text, id text, version int, content text, PRIMARY KEY (project, type, id, version));
  CREATE TABLE IF NOT EXISTS bench_index (
    project text, type text, name text, value text, id text, PRIMARY KEY (project, type, name, value, id))`;
