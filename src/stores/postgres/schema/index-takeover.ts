import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { parameterFingerprints } from '../../../search/index/parameter-fingerprints.js';
import {
  changedParameters,
  changesOf,
  type Codes,
  type CodesByType,
  EVERY,
  FIRST_TYPES,
  readCodes,
  union,
} from '../../sql/index-changes.js';
import { definitionEntries, isMadeWith, isOfThisVersion, readFingerprints } from '../../sql/index-state.js';
import { randomNumber } from '../../sql/random-number.js';
import { sql } from '../../sql/sql.js';
import { arrayText } from '../rows/array.js';
import { readMeta, type Runner, setMeta } from '../rows/meta.js';
import { removeSkipRows } from '../rows/remove-skip-rows.js';

/** True if the rows are made with our definitions. @throws FhirError `unavailable` - a newer version made them */
export async function isOurs(runner: Runner, model: FhirModel): Promise<boolean> {
  const meta = await readMeta(runner, ['index_version', 'index_definitions']);
  return isMadeWith(model, meta.get('index_version'), meta.get('index_definitions'));
}

/**
 * Takes a database over for these definitions: from now on, rows are written with them, and rows of other definitions
 * are queued for re-indexing. Runs inside a transaction of the default isolation level.
 *
 * Statements that write read `fhirgraph_writer` and so hold it until they are committed: writers with the previous
 * definitions are done when the lock is granted, and later writers find another generation.
 *
 * @param isNew true if nothing has been written yet
 */
export async function takeOver(runner: Runner, model: FhirModel, isNew: boolean): Promise<void> {
  await runner.run(sql`LOCK TABLE fhirgraph_writer IN ACCESS EXCLUSIVE MODE`);
  const meta = await readMeta(runner, ['index_version', 'index_definitions', 'index_parameters']);
  if (isMadeWith(model, meta.get('index_version'), meta.get('index_definitions'))) return;
  const before = isOfThisVersion(meta.get('index_version'))
    ? readFingerprints(meta.get('index_parameters'))
    : undefined;
  const changes = isNew ? { [EVERY]: [EVERY] } : changedParameters(before, parameterFingerprints(model));
  const isSame = Object.keys(changes).length === 0;
  const generation = randomGeneration();
  await setMeta(runner, {
    ...definitionEntries(model),
    ...(isSame
      ? {}
      : {
          index_epoch: randomNumber(52),
          index_generation: String(generation),
          index_pending: JSON.stringify(isNew ? {} : await addWork(runner, changes)),
        }),
  });
  if (!isSame) await runner.run(sql`UPDATE fhirgraph_writer SET generation = ${generation}`);
}

/**
 * Adds changes to the remaining work, for the types of one or all projects.
 *
 * @returns all pending changes
 */
export async function addWork(runner: Runner, changes: CodesByType, shard?: string): Promise<CodesByType> {
  const ofShard = shard === undefined ? sql`TRUE` : sql`project = ${shard}`;
  const collections = await runner.run(sql`
    WITH RECURSIVE pairs AS (
      (SELECT project, type FROM resource WHERE ${ofShard} AND content IS NOT NULL ORDER BY project, type LIMIT 1)
      UNION ALL
      SELECT n.project, n.type FROM pairs p CROSS JOIN LATERAL (
        SELECT r.project, r.type FROM resource r WHERE (r.project, r.type) > (p.project, p.type) AND ${ofShard} AND r.content IS NOT NULL
        ORDER BY r.project, r.type LIMIT 1) AS n)
    SELECT p.type, w.parameters, coalesce(i.inside, '[]'), json_agg(p.project)::text FROM pairs p
    LEFT JOIN fhirgraph_index_work w ON w.project = p.project AND w.type = p.type
    LEFT JOIN (SELECT project, type, json_agg(inside ORDER BY inside)::text AS inside FROM fhirgraph_inside GROUP BY project, type) i
      ON i.project = p.project AND i.type = p.type
    GROUP BY 1, 2, 3`);
  for (const [type, before, inside, projects] of collections as readonly CollectionRow[]) {
    const changed = changesOf(changes, type, JSON.parse(inside) as readonly string[]);
    if (changed.length === 0) continue;
    const codes = JSON.stringify(union(changed, before === null ? [] : readCodes(before)));
    // Completed work no longer counts, so the type restarts from the beginning.
    await runner.run(sql`INSERT INTO fhirgraph_index_work (project, type, urgent, parameters)
      SELECT u.project, ${type}::text, ${String(FIRST_TYPES.includes(type))}::boolean, ${codes}::text
      FROM unnest(${arrayText(JSON.parse(projects) as readonly string[])}::uuid[]) AS u(project)
      ON CONFLICT (project, type) DO UPDATE SET parameters = excluded.parameters, cursor = '', done = 0, total = NULL`);
  }
  return pendingOf(runner);
}

/** Ends the work on a type of a project. If it was the last of the type, all processes learn that it is complete. */
export async function endWork(runner: Runner, shard: string, type: string): Promise<void> {
  await runner.run(sql`DELETE FROM fhirgraph_index_work WHERE project = ${shard} AND type = ${type}`);
  for (const statement of removeSkipRows(shard, type)) await runner.run(statement);
  // Serialized, because two concurrent ends would each still see the work of the other.
  await runner.run(sql`SELECT 1 FROM fhirgraph_meta WHERE name = 'index_pending' FOR UPDATE`);
  const others = await runner.run(sql`SELECT 1 FROM fhirgraph_index_work WHERE type = ${type} LIMIT 1`);
  if (others.length > 0) return;
  await runner.run(sql`UPDATE fhirgraph_meta SET value = CASE name
      WHEN 'index_epoch' THEN ${randomNumber(52)}::text ELSE (value::jsonb - ${type}::text)::text END
    WHERE name IN ('index_epoch', 'index_pending')
      AND EXISTS (SELECT 1 FROM fhirgraph_meta p WHERE p.name = 'index_pending' AND jsonb_exists(p.value::jsonb, ${type}))`);
}

/** Like {@link randomNumber}, for a column of 32 bits. Older versions of this library add 1. */
function randomGeneration(): number {
  return 1 + (Number(randomNumber(52)) % (2 ** 31 - 2 ** 16));
}

async function pendingOf(runner: Runner): Promise<CodesByType> {
  const rows = await runner.run(sql`SELECT DISTINCT type, parameters FROM fhirgraph_index_work`);
  const pending: { [type: string]: Codes } = {};
  for (const [type, codes] of rows as readonly (readonly [string, string])[]) {
    pending[type] = union(readCodes(codes), pending[type] ?? []);
  }
  return pending;
}

type CollectionRow = readonly [type: string, parameters: string | null, inside: string, projects: string];
