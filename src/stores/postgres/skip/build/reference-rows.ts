import { setImmediate as turn } from 'node:timers/promises';
import { type Sql, sql } from '../../../sql/sql.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { KEYS_IN_ROW, referenceBytes } from '../../../sql/skip/references.js';
import { arrayText } from '../../rows/array.js';
import type { Runner } from '../../rows/meta.js';
import { CUT } from '../../scans/range-walk.js';
import { granuleRows } from '../format/granule-rows.js';
import { numbers, numbersIn, type Row, textOf } from '../format/number-texts.js';
import { ReferenceOrder } from './reference-order.js';
import { BY_LARGEST, BY_SMALLEST, KEYS_TOGETHER, ORDER, type ReferencesHead, TARGETS } from '../../rows/skip-row.js';

/**
 * Builds the references of some parameters, and the orders by them. Writes the keys of their targets, and returns the other
 * rows.
 *
 * @param of two columns: the project and the type
 * @param all the resources of the type
 */
export async function* referenceRows(
  runner: Runner,
  project: Sql,
  of: Sql,
  parameters: readonly number[],
  all: KeySet,
): AsyncGenerator<Row> {
  const isAsked = sql`x.project = ${project} AND x.grp = 0 AND x.parameter = ANY (${arrayText(parameters)}::bigint[])`;
  await gatherPairs(runner, of, isAsked);
  await gatherTexts(runner, isAsked);
  await runner.run(sql`ANALYZE fhirgraph_pair, fhirgraph_text`);
  const heads = await runner.run(sql`SELECT parameter, max(t) + 1 FROM fhirgraph_pair GROUP BY 1 ORDER BY 1`);
  for (const [parameter, targets] of heads) {
    const sort = Number(parameter);
    const head: ReferencesHead = { targets: Number(targets) };
    yield { sort, subject: TARGETS, value: ORDER, data: JSON.stringify(head) };
    const order = new ReferenceOrder(all.size);
    yield* pairRows(runner, sort, order);
    await addUrls(runner, project, sort, order);
    yield* orderRows(runner, sort, order, all);
  }
  await runner.run(sql`DROP TABLE fhirgraph_pair, fhirgraph_text`);
}

/** The pairs of a resource's number and its target's place, and the stored keys of the targets. */
async function gatherPairs(runner: Runner, of: Sql, isAsked: Sql): Promise<void> {
  await runner.run(
    sql`CREATE TEMP TABLE fhirgraph_pair (parameter bigint NOT NULL, target uuid NOT NULL, n int NOT NULL, t int NOT NULL) ON COMMIT DROP`,
  );
  await runner.run(sql`INSERT INTO fhirgraph_pair SELECT x.parameter, x.target, m.n,
      (dense_rank() OVER (PARTITION BY x.parameter ORDER BY x.target) - 1)::int AS t
    FROM reference x JOIN fhirgraph_number m ON m.resource = x.resource WHERE ${isAsked}`);
  await runner.run(sql`INSERT INTO fhirgraph_made (project, type, sort, subject, value, data)
    SELECT ${of}, d.parameter, ${TARGETS}::bigint, 'k' || right('0000' || d.row, 5),
      encode(string_agg(uuid_send(d.target), '' ORDER BY d.t), 'base64')
    FROM (SELECT DISTINCT parameter, target, t, t / ${KEYS_TOGETHER}::int AS row FROM fhirgraph_pair) d GROUP BY d.parameter, d.row`);
}

/** The texts of references in order. Absolute references are among the URIs; each has a text of its own. */
async function gatherTexts(runner: Runner, isAsked: Sql): Promise<void> {
  await runner.run(
    sql`CREATE TEMP TABLE fhirgraph_text (parameter bigint NOT NULL, target uuid, text text COLLATE "C" NOT NULL, place int NOT NULL) ON COMMIT DROP`,
  );
  await runner.run(sql`INSERT INTO fhirgraph_text
    SELECT y.*, (dense_rank() OVER (PARTITION BY y.parameter ORDER BY y.text))::int AS place FROM (
      SELECT DISTINCT x.parameter, x.target, left(x.target_type || '/' || x.target_id, ${CUT}::int) AS text FROM reference x WHERE ${isAsked}
      UNION ALL SELECT DISTINCT x.parameter, NULL::uuid, left(x.value, ${CUT}::int) FROM uri x WHERE ${isAsked}) y`);
}

/** The rows of a parameter's pairs, which are added to the order by it. */
async function* pairRows(runner: Runner, sort: number, order: ReferenceOrder): AsyncGenerator<Row> {
  const rows = await runner.run(sql`SELECT n / ${KEYS_IN_ROW}::int, ${numbers(sql`n`)}, ${numbers(sql`t`)}
    FROM fhirgraph_pair WHERE parameter = ${sort}::bigint GROUP BY 1`);
  const [[placed]] = (await runner.run(sql`SELECT encode(string_agg(int4send(t.place), '' ORDER BY t.target), 'base64')
    FROM fhirgraph_text t WHERE t.parameter = ${sort}::bigint AND t.target IS NOT NULL`)) as [[string]];
  const placeOf = numbersIn(placed);
  for (const [row, sources, targets] of rows as readonly (readonly [unknown, string, string])[]) {
    const first = Number(row) * KEYS_IN_ROW;
    const [ofRow, places] = [numbersIn(sources), numbersIn(targets)];
    const bytes = referenceBytes(
      Array.from(ofRow, (number) => number - first),
      Array.from(places),
    );
    order.add(
      ofRow,
      places.map((place) => placeOf[place]!),
    );
    yield { sort, subject: TARGETS, value: String(row), data: textOf(bytes) };
  }
}

/** Adds absolute references to the order of a parameter. */
async function addUrls(runner: Runner, project: Sql, sort: number, order: ReferenceOrder): Promise<void> {
  const [[sources, places]] = (await runner.run(sql`SELECT ${numbers(sql`m.n`)}, ${numbers(sql`t.place`)}
    FROM uri x JOIN fhirgraph_number m ON m.resource = x.resource
    JOIN fhirgraph_text t ON t.parameter = x.parameter AND t.target IS NULL AND t.text = left(x.value, ${CUT}::int)
    WHERE x.project = ${project} AND x.grp = 0 AND x.parameter = ${sort}::bigint`)) as [[string | null, string | null]];
  order.add(numbersIn(sources ?? ''), numbersIn(places ?? ''));
}

async function* orderRows(runner: Runner, sort: number, order: ReferenceOrder, all: KeySet): AsyncGenerator<Row> {
  const { several } = order;
  for (const subject of several ? [BY_SMALLEST, BY_LARGEST] : [BY_SMALLEST]) {
    await turn();
    const granules = order.granules(subject === BY_LARGEST);
    const rows =
      await runner.run(sql`SELECT t.place, min(t.text) FROM fhirgraph_text t WHERE t.parameter = ${sort}::bigint
      AND t.place = ANY (${arrayText(granules.map(({ place }) => place))}::int[]) GROUP BY 1`);
    const texts = new Map(rows.map(([place, text]) => [Number(place), text as string]));
    const started = granules.map((one) => ({ ...one, start: texts.get(one.place)! }));
    yield* granuleRows({ sort, subject, several }, started, all);
  }
}
