import { FhirError } from '../../../fhir/error.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { sql } from '../../sql/sql.js';
import type { Connections } from '../database/connections.js';
import { sqlState } from '../database/errors.js';
import { isOurs, takeOver } from './index-takeover.js';
import type { Connection } from '../database/lent-connection.js';
import { setMeta } from '../rows/meta.js';
import { SCHEMA_STEPS } from './schema.js';
import { endsWhenSilent } from '../database/silence.js';

/** The schema version, kept in `fhirgraph_meta`. */
export const SCHEMA_VERSION = SCHEMA_STEPS.length;

/**
 * Migrates the tables to the current schema version and takes the database over for these definitions. Processes that
 * start at the same time wait for each other; those of an older version keep working if tables were only added.
 *
 * @throws FhirError `unavailable` - a newer version of this library wrote the database, or its encoding is not UTF-8.
 * @throws FhirError `conflict` - the schema holds tables of another application.
 */
export async function prepareSchema(connections: Connections, partitions: number, model: FhirModel): Promise<void> {
  await connections.use(async (connection) => {
    if ((await checkedVersion(connection)) === SCHEMA_VERSION && (await isOurs(connection, model))) return;
    await connection.run(sql`BEGIN; ${endsWhenSilent()}`);
    try {
      await connection.run(sql`SELECT pg_advisory_xact_lock(${LOCK})`);
      await connection.run(CREATE_META);
      const version = await checkedVersion(connection);
      for (const step of SCHEMA_STEPS.slice(version)) {
        for (const statement of step(partitions)) await connection.run(statement);
      }
      await setMeta(connection, { schema_version: String(SCHEMA_VERSION) });
      await takeOver(connection, model, version === 0);
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
  if (version > SCHEMA_VERSION) {
    const message = `The database has schema version ${version}, written by a newer fhirgraph; this one knows up to ${SCHEMA_VERSION}`;
    throw new FhirError('unavailable', message);
  }
  return version;
}

const READ_VERSION = sql`SELECT current_setting('server_encoding'),
  (SELECT value FROM fhirgraph_meta WHERE name = 'schema_version')`;
