import type { PostgresPool } from '../../../src/postgres.js';
import type { PlanNode } from '../plan-node.js';
import { through } from './pool.js';

/** A pool that explains each search that passes it. */
export function explaining(pool: PostgresPool, plans: PlanNode[]): PostgresPool {
  return through(pool, async (statement, client) => {
    if (
      /^(?:WITH (?:[klst]0|f AS)|SELECT (?:count|\(|CASE|a\.n|r0\.(?:key|content)|j\.position))/.test(statement.text)
    ) {
      const text = `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement.text}`;
      const { rows } = await client.query({ ...statement, text });
      const [[answer]] = rows as [[unknown]];
      const [{ Plan }] = (typeof answer === 'string' ? JSON.parse(answer) : answer) as [{ readonly Plan: PlanNode }];
      plans.push(Plan);
    }
    return client.query(statement);
  });
}

/** The node and all below it. */
export function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
