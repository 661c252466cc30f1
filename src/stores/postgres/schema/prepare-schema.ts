import { FhirError } from '../../../fhir/error.js';
import { emptyDatabase, newerSchema, outdated } from '../../sql/opening.js';
import { sql } from '../../sql/sql.js';
import type { Connections } from '../database/connections.js';
import { sqlState } from '../database/errors.js';
import { setEntries } from '../../sql/index-state.js';
import { isTakeoverDue, takeOver } from '../../sql/index-takeover.js';
import type { Connection } from '../database/lent-connection.js';
import type { PostgresStoreConfig } from '../database/config.js';
import { onIndexOf } from '../rows/index-port.js';
import { SCHEMA_STEPS } from './schema.js';
import { endsWhenSilent } from '../database/silence.js';

/** The schema version, kept in `fhirgraph_meta`. */
export const SCHEMA_VERSION = SCHEMA_STEPS.length;

/**
 * Creates the tables of an empty database. For its owner, migrates them to the current schema version, and takes the
 * database over for these definitions. Processes that start at the same time wait for each other; those of an older
 * version keep working if tables were only added.
 *
 * @throws FhirError `unavailable` - a newer version of this library wrote the database, or its encoding is not UTF-8;
 * or an older version did, and the store is not the owner; or there are no tables, and the store only reads.
 * @throws FhirError `conflict` - the schema holds tables of another application.
 */
export async function prepareSchema(
  connections: Connections,
  { partitions, model, opening }: Pick<PostgresStoreConfig, 'partitions' | 'model' | 'opening'>,
): Promise<void> {
  await connections.use(async (connection) => {
    const found = await checkedVersion(connection);
    if (found === 0 && opening === 'reader') throw emptyDatabase();
    if (found !== 0 && found !== SCHEMA_VERSION && opening !== 'owner') throw outdated(`schema version ${found}`);
    const isDue = (): Promise<boolean> => onIndexOf(connection, isTakeoverDue(model, opening === 'user'));
    if (found === SCHEMA_VERSION && (!(await isDue()) || opening === 'reader')) return;
    await connection.run(sql`BEGIN; ${endsWhenSilent()}`);
    try {
      await connection.run(sql`SELECT pg_advisory_xact_lock(${LOCK})`);
      await connection.run(CREATE_META);
      const version = await checkedVersion(connection);
      // Another process may have created the tables since.
      if (version !== 0 && version !== SCHEMA_VERSION && opening !== 'owner')
        throw outdated(`schema version ${version}`);
      for (const step of SCHEMA_STEPS.slice(version)) {
        for (const statement of step(partitions)) await connection.run(statement);
      }
      await onIndexOf(connection, setEntries({ schema_version: String(SCHEMA_VERSION) }));
      if (version === 0 || (await isDue())) {
        // Statements that write read this table and so hold its lock until they are committed: writers with the previous
        // definitions are done when it is granted, and later writers find another generation.
        await connection.run(sql`LOCK TABLE fhirgraph_writer IN ACCESS EXCLUSIVE MODE`);
        await onIndexOf(connection, takeOver(model, version === 0));
      }
      await connection.commit();
    } catch (error) {
      await connection.rollBack();
      throw error;
    }
  });
}

/** "fhir" in ASCII. */
const LOCK = 0x66686972;

const CREATE_META = sql`CREATE TABLE IF NOT EXISTS fhirgraph_meta (name text PRIMARY KEY, value text NOT NULL)`;

/** The schema version of the database; 0 without tables. */
async function checkedVersion(connection: Connection): Promise<number> {
  let rows;
  try {
    rows = await connection.run(READ_VERSION);
  } catch (error) {
    // undefined_table
    if (sqlState(error) === '42P01') return 0;
    throw error;
  }
  const [encoding, value] = rows[0]!;
  if (encoding !== 'UTF8') throw new FhirError('unavailable', `The database must be in UTF8, not ${String(encoding)}`);
  const version = Number(value ?? 0);
  if (version > SCHEMA_VERSION) throw newerSchema(version, SCHEMA_VERSION);
  return version;
}

const READ_VERSION = sql`SELECT current_setting('server_encoding'),
  (SELECT value FROM fhirgraph_meta WHERE name = 'schema_version')`;
