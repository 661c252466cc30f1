import { type Ask, runNow, type SyncPort } from '../../ask.js';
import { FIRST_TYPES } from '../../sql/index-changes.js';
import type { IndexPort, StateTables } from '../../sql/index-state.js';
import { allOf, type Sql, sql, TRUE } from '../../sql/sql.js';
import type { Statements } from '../database/statements.js';

/** Runs steps on the state of the index of a file. */
export function onIndexOfFile<Result>(statements: Statements, steps: Ask<IndexPort, Result>): Result {
  return runNow(steps, indexPortOfFile(statements));
}

export function indexPortOfFile(statements: Statements): SyncPort<IndexPort> {
  return {
    tables: STATE_TABLES,
    run(statement) {
      if (statement.text.startsWith('SELECT')) return statements.all(statement);
      statements.write(statement.text).run(...statement.values);
      return [];
    },
  };
}

const STATE_TABLES: StateTables = {
  meta: sql`meta`,
  work: sql`index_work`,
  worksOf: (project) => {
    // SQLite never reorders a CROSS JOIN.
    const joined =
      project === undefined ? sql`index_work i CROSS JOIN collection c` : sql`collection c CROSS JOIN index_work i`;
    return {
      from: sql`(SELECT c.project, c.type, i.* FROM ${joined} ON c.key = i.collection) w`,
      where: project === undefined ? TRUE : sql`w.project = ${project}`,
    };
  },
  nextWork: (skipped) => sql`ORDER BY w.rank, w.collection LIMIT 1 OFFSET ${skipped}`,
  lock: sql``,
  projectKey: (project) => project,
  isOf: ({ project, type }) =>
    sql`collection = (SELECT key FROM collection WHERE project = ${project} AND type = ${type})`,
  isOfWork: sql`r.collection = w.collection`,
  isOneOf: (column, texts) => sql`${column} IN (${elementsOf(texts)})`,
  heldTypes: (project) => {
    const hasResources = sql`EXISTS (SELECT 1 FROM resource r WHERE r.collection = c.key AND r.content IS NOT NULL)`;
    const isAsked = project === undefined ? hasResources : allOf([sql`c.project = ${project}`, hasResources]);
    // Parameters that lead to, or index, contained resources.
    const inside = sql`SELECT json_group_array(p.code) FROM parameter p WHERE p.collection = c.key AND instr(p.code, '#') > 0`;
    return sql`SELECT type, parameters, inside, json_group_array(project) FROM (
        SELECT c.type, w.parameters, (${inside}) AS inside, c.project
        FROM collection c LEFT JOIN index_work w ON w.collection = c.key WHERE ${isAsked})
      GROUP BY 1, 2, 3`;
  },
  // Completed work no longer counts, so the type restarts from the beginning.
  setWork: (projects, type, codes) => sql`INSERT OR REPLACE INTO index_work (collection, rank, parameters)
    SELECT key, ${FIRST_TYPES.includes(type) ? 0 : 1}, ${JSON.stringify(codes)} FROM collection
    WHERE type = ${type} AND project IN (${elementsOf(projects)})`,
};

function elementsOf(texts: readonly string[]): Sql {
  return sql`SELECT value FROM json_each(${JSON.stringify(texts)})`;
}
