import { Pace } from '../../../platform/pace.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { referenceTo } from '../../../fhir/reference.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { type CodesByType, codesOf, readCodes, REMAKE } from '../../sql/index-changes.js';
import { parseStored } from '../../sql/parse-stored.js';
import { sql } from '../../sql/sql.js';
import { arrayText } from '../rows/array.js';
import type { Connections } from '../database/connections.js';
import { boundedBatch } from '../rows/bounded-texts.js';
import { ALL_INDEX_TABLES, IndexRows } from '../rows/index-rows.js';
import { plainKey, resourceKeyIn } from '../rows/keys.js';
import type { Connection } from '../database/lent-connection.js';
import { endsWhenSilent } from '../database/silence.js';
import type { IndexStatus } from '../schema/index-status.js';
import type { PostgresSegments } from '../segments/segments.js';

/** The findings of a verification. */
export interface PostgresVerification {
  /** Number of current resources checked. */
  readonly resources: number;
  /** One line per contradiction, the first 100; empty if all is well. */
  readonly problems: readonly string[];
}

/**
 * Compares every resource with its versions, its index rows and its key, and segments with the resources. Concurrent
 * reads and writes are possible. Types that are being re-indexed, or that the database indexes with other definitions,
 * are skipped.
 */
export async function verify(
  model: FhirModel,
  connections: Connections,
  { status, segments }: { readonly status: IndexStatus; readonly segments: PostgresSegments },
  signal?: AbortSignal,
): Promise<PostgresVerification> {
  const { foreign, isOurs } = await status.load();
  const problems: string[] = [];
  let resources = 0;
  for await (const part of parts(connections, signal)) {
    const found = await connections.use((connection) => verifyPart(model, connection, part, foreign), signal);
    resources += found.resources;
    problems.push(...found.problems.slice(0, MAX_PROBLEMS - problems.length));
  }
  const ofSegments = isOurs ? await segments.verify(connections, signal) : [];
  problems.push(...ofSegments.slice(0, MAX_PROBLEMS - problems.length));
  return { resources, problems };
}

interface Part {
  readonly shard: string;
  readonly keys: readonly string[];
}

/** All rows of `resource`, deletions included, in batches, project by project. */
async function* parts(connections: Connections, signal: AbortSignal | undefined): AsyncIterable<Part> {
  let shard: string | undefined = NOWHERE;
  while (shard !== undefined) {
    let after = NOWHERE;
    for (;;) {
      const rows = await connections.run(
        boundedBatch(
          sql`SELECT key, key AS place, content FROM resource WHERE project = ${shard} AND key > ${after} ORDER BY key LIMIT ${PART}`,
        ),
        signal,
      );
      const keys = rows.map(([key]) => key as string);
      if (keys.length === 0) break;
      yield { shard, keys };
      after = keys.at(-1)!;
    }
    const next = sql`SELECT project FROM resource WHERE project > ${shard} ORDER BY project LIMIT 1`;
    const [row] = await connections.run(next, signal);
    shard = row && plainKey(row[0]);
  }
}

async function verifyPart(
  model: FhirModel,
  connection: Connection,
  part: Part,
  foreign: CodesByType,
): Promise<PostgresVerification> {
  await connection.run(sql`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${endsWhenSilent()}`);
  try {
    const stored = await readPart(connection, part);
    const names = new Map(stored.map(({ key, type, id }) => [key, referenceTo(type, id)]));
    const pending = await pendingTypes(connection, part.shard, foreign);
    const problems: string[] = [];
    const readable: StoredRow[] = [];
    const pace = new Pace();
    let resources = 0;
    for (const one of stored) {
      if (pace.isSpent) await pace.next();
      const isWhole = one.content === null || isReadable(one.content);
      for (const line of problemsOf(part.shard, one, isWhole)) problems.push(`${names.get(one.key)!}: ${line}`);
      if (isWhole && one.content !== null) resources += 1;
      if (isWhole && !pending.has(one.type)) readable.push(one);
    }
    const rows = await indexRowsOf(model, part.shard, readable, pace);
    const keys = readable.map(({ key }) => key);
    for (const table of ALL_INDEX_TABLES) {
      const differing = await connection.run(rows.differences(table, keys));
      for (const name of new Set(differing.map(([key]) => names.get(plainKey(key))!))) {
        problems.push(`${name}: its rows in ${table} are not what it says`);
      }
    }
    return { resources, problems };
  } finally {
    await connection.rollBack();
  }
}

/** The types with a parameter that is being re-indexed, or foreign; also of resources inside theirs. */
async function pendingTypes(
  connection: Connection,
  shard: string,
  foreign: CodesByType,
): Promise<{ has(type: string): boolean }> {
  const isForeign = (type: string): boolean => codesOf(foreign, type).length > 0;
  const inside = await connection.run(sql`SELECT type, inside FROM fhirgraph_inside WHERE project = ${shard}`);
  const holders = inside.filter(([, held]) => isForeign(held as string)).map(([type]) => type as string);
  const rows = await connection.run(sql`SELECT type, parameters FROM fhirgraph_index_work WHERE project = ${shard}`);
  const pending = rows.filter(([, codes]) => readCodes(codes as string).some((code) => code !== REMAKE));
  const types = new Set([...holders, ...pending.map(([type]) => type as string)]);
  return { has: (type) => types.has(type) || isForeign(type) };
}

/** A row of `resource` with its data in other tables. */
interface StoredRow {
  readonly key: string;
  readonly type: string;
  readonly id: string;
  readonly version: number;
  /** How many of the oldest versions were removed. */
  readonly purged: number;
  readonly content: string | null;
  /** Number of rows in `version`. */
  readonly versions: number;
  /** Number of unique texts. */
  readonly held: number;
}

async function readPart(connection: Pick<Connection, 'run'>, { shard, keys }: Part): Promise<readonly StoredRow[]> {
  const rows = await connection.run(sql`SELECT r.key, r.type, r.id, r.version, r.purged, r.content,
      (SELECT count(*)::int FROM version v WHERE v.project = ${shard} AND v.resource = r.key AND v.version < r.version),
      (SELECT count(*)::int FROM unique_key u WHERE u.project = ${shard} AND u.resource = r.key)
    FROM resource r WHERE r.project = ${shard} AND r.key = ANY (${arrayText(keys)})`);
  return rows.map((row) => {
    const [key, type, id, version, purged, content, versions, held] = row as StoredColumns;
    return { key: plainKey(key), type, id, version, purged, content, versions, held };
  });
}

type StoredColumns = readonly [string, string, string, number, number, string | null, number, number];

function problemsOf(
  shard: string,
  { key, type, id, version, purged, content, versions, held }: StoredRow,
  isWhole: boolean,
): readonly string[] {
  const problems: string[] = [];
  if (key !== resourceKeyIn(shard, type, id)) problems.push('its key is of another resource');
  const earlier = version - purged - 1;
  if (versions !== earlier) problems.push(`of its ${earlier} versions before, ${versions} are there`);
  if (content === null) return held > 0 ? [...problems, 'it is deleted, but holds unique texts'] : problems;
  if (!isWhole) return [...problems, 'its text cannot be read'];
  const { versionId, resource } = parseStored(content);
  if (resource.resourceType !== type || resource.id !== id) problems.push('its text is of another resource');
  if (versionId !== String(version)) problems.push('its text is of another version');
  return problems;
}

function isReadable(content: string): boolean {
  try {
    parseStored(content);
    return true;
  } catch {
    return false;
  }
}

async function indexRowsOf(
  model: FhirModel,
  shard: string,
  stored: readonly StoredRow[],
  pace: Pace,
): Promise<IndexRows> {
  const rows = new IndexRows(shard);
  for (const { key, type, content } of stored) {
    if (pace.isSpent) await pace.next();
    if (content === null) continue;
    rows.add(key, type, indexEntries(model, parseStored(content).resource));
  }
  return rows;
}

const NOWHERE = '00000000-0000-0000-0000-000000000000';
/** Resources per batch, at most. */
const PART = 300;
const MAX_PROBLEMS = 100;
