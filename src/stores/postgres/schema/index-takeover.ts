import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { LOOP_TURN } from '../../../platform/pace.js';
import { runAwaiting } from '../../ask.js';
import { type CodesByType, FIRST_TYPES } from '../../sql/index-changes.js';
import { isMadeWith } from '../../sql/index-state.js';
import * as shared from '../../sql/index-takeover.js';
import { randomNumber } from '../../sql/random-number.js';
import { sql } from '../../sql/sql.js';
import { arrayText } from '../rows/array.js';
import { readMeta, type Runner, setMeta } from '../rows/meta.js';

/** True if the rows are made with our definitions. @throws FhirError `unavailable` - a newer version made them */
export async function isOurs(runner: Runner, model: FhirModel): Promise<boolean> {
  const meta = await readMeta(runner, ['index_version', 'index_definitions']);
  return isMadeWith(model, meta.get('index_version'), meta.get('index_definitions'));
}

/**
 * Takes a database over for these definitions. Runs inside a transaction of the default isolation level.
 *
 * Statements that write read `fhirgraph_writer` and so hold it until they are committed: writers with the previous
 * definitions are done when the lock is granted, and later writers find another generation.
 *
 * @param isNew true if nothing has been written yet
 */
export async function takeOver(runner: Runner, model: FhirModel, isNew: boolean): Promise<void> {
  await runner.run(sql`LOCK TABLE fhirgraph_writer IN ACCESS EXCLUSIVE MODE`);
  await runAwaiting(shared.takeOver(model, isNew), portOf(runner), LOOP_TURN);
}

/** Adds changes to the work that is left, for the types of one or all projects. */
export async function addWork(runner: Runner, changes: CodesByType, shard?: string): Promise<void> {
  await runAwaiting(shared.addWork(changes, shard), portOf(runner), LOOP_TURN);
}

/** Ends the work on a type of a project. If it was the last of the type, all processes learn that it is complete. */
export async function endWork(runner: Runner, shard: string, type: string): Promise<void> {
  await runAwaiting(shared.endWork<Place>([shard], type), portOf(runner), LOOP_TURN);
}

/** The keys of projects. */
type Place = readonly string[];

function portOf(runner: Runner): shared.TakeoverPort<Place> {
  return {
    entries: (names) => readMeta(runner, names),
    setEntries: (values) => setMeta(runner, values),
    async refuseOthers() {
      const generation = randomGeneration();
      await runner.run(sql`UPDATE fhirgraph_writer SET definitions = ${generation}`);
      return { index_generation: String(generation) };
    },
    async heldTypes(shard) {
      const ofShard = shard === undefined ? sql`TRUE` : sql`project = ${shard}`;
      const rows = await runner.run(sql`
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
      return (rows as readonly CollectionRow[]).map(([type, left, inside, projects]) => ({
        place: JSON.parse(projects) as Place,
        type,
        left,
        inside: JSON.parse(inside) as readonly string[],
      }));
    },
    // Completed work no longer counts, so the type restarts from the beginning.
    setWork: (shards, type, codes) =>
      runner.run(sql`INSERT INTO fhirgraph_index_work (project, type, urgent, parameters)
        SELECT u.project, ${type}::text, ${String(FIRST_TYPES.includes(type))}::boolean, ${JSON.stringify(codes)}::text
        FROM unnest(${arrayText(shards)}::uuid[]) AS u(project)
        ON CONFLICT (project, type) DO UPDATE SET parameters = excluded.parameters, cursor = '', done = 0, total = NULL`),
    work: async () =>
      (await runner.run(
        sql`SELECT DISTINCT type, parameters FROM fhirgraph_index_work`,
      )) as unknown as readonly (readonly [string, string])[],
    async removeWork([shard], type) {
      await runner.run(sql`DELETE FROM fhirgraph_index_work WHERE project = ${shard!} AND type = ${type}`);
      // Serialized, because two concurrent ends would each still see the work of the other.
      await runner.run(sql`SELECT 1 FROM fhirgraph_meta WHERE name = 'index_pending' FOR UPDATE`);
      const others = await runner.run(sql`SELECT 1 FROM fhirgraph_index_work WHERE type = ${type} LIMIT 1`);
      return others.length > 0;
    },
  };
}

/** Like {@link randomNumber}, for a column of 32 bits. Older versions of this library add 1. */
function randomGeneration(): number {
  return 1 + (Number(randomNumber(52)) % (2 ** 31 - 2 ** 16));
}

type CollectionRow = readonly [type: string, parameters: string | null, inside: string, projects: string];
