import { LOOP_TURN } from '../../../platform/pace.js';
import { type Ask, runAwaiting } from '../../ask.js';
import { FIRST_TYPES } from '../../sql/index-changes.js';
import type { IndexPort, StateTables } from '../../sql/index-state.js';
import { sql, TRUE } from '../../sql/sql.js';
import type { Runner } from '../database/run.js';
import { arrayText } from './array.js';
import { projectKey } from './keys.js';

/** Runs steps on the state of the index of a database. */
export function onIndexOf<Result>(runner: Runner, steps: Ask<IndexPort, Result>): Promise<Result> {
  return runAwaiting(steps, indexPortOf(runner), LOOP_TURN);
}

export function indexPortOf(runner: Runner): IndexPort {
  return { tables: STATE_TABLES, run: (statement) => runner.run(statement) };
}

/** The generation of the definitions that rows are written with. Reading it blocks a takeover until the transaction ends. */
export const GENERATION = sql`(SELECT definitions FROM fhirgraph_writer)`;

const STATE_TABLES: StateTables = {
  meta: sql`fhirgraph_meta`,
  work: sql`fhirgraph_index_work`,
  worksOf: (project) => ({
    from: sql`fhirgraph_index_work w`,
    where: project === undefined ? TRUE : sql`w.project = ${projectKey(project)}`,
  }),
  nextWork: (skipped) =>
    sql`ORDER BY w.urgent DESC, w.project, w.type LIMIT 1 OFFSET ${skipped} FOR UPDATE OF w SKIP LOCKED`,
  lock: sql`FOR UPDATE`,
  projectKey,
  isOf: ({ project, type }) => sql`project = ${project} AND type = ${type}`,
  isOfWork: sql`r.project = w.project AND r.type = w.type`,
  isOneOf: (column, texts) => sql`${column} = ANY (${arrayText(texts)})`,
  heldTypes: (project) => {
    const isAsked = project === undefined ? sql`TRUE` : sql`project = ${project}`;
    return sql`WITH RECURSIVE pairs AS (
        (SELECT project, type FROM resource WHERE ${isAsked} AND content IS NOT NULL ORDER BY project, type LIMIT 1)
        UNION ALL
        SELECT n.project, n.type FROM pairs p CROSS JOIN LATERAL (
          SELECT r.project, r.type FROM resource r WHERE (r.project, r.type) > (p.project, p.type) AND ${isAsked} AND r.content IS NOT NULL
          ORDER BY r.project, r.type LIMIT 1) AS n)
      SELECT p.type, w.parameters, coalesce(i.inside, '[]'), json_agg(p.project)::text FROM pairs p
      LEFT JOIN fhirgraph_index_work w ON w.project = p.project AND w.type = p.type
      LEFT JOIN (SELECT project, type, json_agg('#' || inside ORDER BY inside)::text AS inside FROM fhirgraph_inside GROUP BY project, type) i
        ON i.project = p.project AND i.type = p.type
      GROUP BY 1, 2, 3`;
  },
  // Completed work no longer counts, so the type restarts from the beginning.
  setWork: (projects, type, codes) => sql`INSERT INTO fhirgraph_index_work (project, type, urgent, parameters)
    SELECT u.project, ${type}::text, ${String(FIRST_TYPES.includes(type))}::boolean, ${JSON.stringify(codes)}::text
    FROM unnest(${arrayText(projects)}::uuid[]) AS u(project)
    ON CONFLICT (project, type) DO UPDATE SET parameters = excluded.parameters, cursor = '', done = 0, total = NULL`,
  refuseOthers: (generation) => sql`UPDATE fhirgraph_writer SET definitions = ${generation}`,
};
