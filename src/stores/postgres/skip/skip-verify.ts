import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { rowScope } from '../../sql/rows.js';
import { sql } from '../../sql/sql.js';
import type { Connections } from '../database/connections.js';
import { postgresDialect } from '../rows/dialect.js';
import type { Connection } from '../database/lent-connection.js';
import { countWrongLayerRows } from './layers/layer-verify.js';
import { beginMaking } from './build/made-rows.js';
import { buildSkipIndex } from './build/skip-build.js';
import { ofType } from './read/skip-state.js';
import { FORMAT, HEADER, IDS, SETS, type SkipHeader } from '../rows/skip-row.js';

/**
 * Compares skip indexes with the resources: builds each one again, in temporary tables or as one more layer. Skips
 * types with writes since their index was built, because searches do not rely on their rows alone.
 *
 * @returns a line for each skip index with wrong rows
 */
export async function verifySkipIndexes(
  model: FhirModel,
  connections: Connections,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const rows = await connections.run(
    sql`SELECT type, data FROM fhirgraph_skip WHERE ${IS_HEADER} ORDER BY project, type`,
    signal,
  );
  const problems: string[] = [];
  for (const [type, data] of rows as readonly (readonly [string, string])[]) {
    const header = readHeader(data);
    if (header === undefined) {
      problems.push(`The skip index of ${type} cannot be read`);
      continue;
    }
    const wrong = await connections.use((connection) => countWrongRows(connection, model, header, type), signal);
    if (wrong > 0) problems.push(`The skip index of ${type} in ${header.project}: rows that are wrong: ${wrong}`);
  }
  return problems;
}

function readHeader(text: string): SkipHeader | undefined {
  try {
    return JSON.parse(text) as SkipHeader;
  } catch {
    return undefined;
  }
}

async function countWrongRows(
  connection: Connection,
  model: FhirModel,
  header: SkipHeader,
  type: string,
): Promise<number> {
  const { project, epoch, format, id } = header;
  if (format !== FORMAT) return 0;
  const of = ofType(project, type);
  await connection.run(beginMaking());
  try {
    const [row] = await connection.run(sql`SELECT 1 FROM fhirgraph_skip s
      WHERE ${of} AND ${IS_HEADER} AND s.data::jsonb ->> 'id' = ${id}
        AND (SELECT m.value FROM fhirgraph_meta m WHERE m.name = 'index_epoch') = ${epoch}
        AND NOT EXISTS (SELECT 1 FROM fhirgraph_skip_written s WHERE ${of})
        AND NOT EXISTS (SELECT 1 FROM fhirgraph_index_work s WHERE ${of})`);
    if (row === undefined) return 0;
    if (header.layers.length > 0) {
      const scope = rowScope({ project, dialect: postgresDialect(model) }, type);
      return await countWrongLayerRows(connection, scope, header);
    }
    await buildSkipIndex(connection, model, { project, type, epoch });
    const [counts] = await connection.run(sql`SELECT
      (SELECT count(*) FROM (SELECT * FROM fhirgraph_skip s WHERE ${of}) s FULL JOIN fhirgraph_made m
        USING (sort, subject, value) WHERE s.data IS DISTINCT FROM m.data
          AND NOT (sort = ${SETS}::bigint AND subject = ${IDS}::bigint AND value = ${HEADER})),
      (SELECT count(*) FROM (SELECT * FROM fhirgraph_skip_key s WHERE ${of}) s FULL JOIN fhirgraph_made_key m
        USING (first) WHERE s.keys IS DISTINCT FROM m.keys)`);
    return Number(counts![0]) + Number(counts![1]);
  } finally {
    await connection.rollBack();
  }
}

const IS_HEADER = sql`sort = ${SETS}::bigint AND subject = ${IDS}::bigint AND value = ${HEADER}`;
