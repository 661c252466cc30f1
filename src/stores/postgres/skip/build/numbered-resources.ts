import type { RowScope } from '../../../sql/rows.js';
import { sql, type Sql } from '../../../sql/sql.js';
import { projectKey } from '../../rows/keys.js';
import type { Runner } from '../../rows/meta.js';
import { IDS, keyNames, KEYS_IN_ROW, KEYS_TOGETHER, SETS, type SkipLayer } from '../../rows/skip-row.js';
import { numbers, numbersIn } from '../format/number-texts.js';
import { ofType } from '../read/skip-state.js';

// The temporary table `fhirgraph_number` has the resources of a layer, or of the whole type: the number `n` and the shape of
// each.

/**
 * Numbers resources in the order of their keys.
 *
 * @param resources selects the key and the shape of each
 * @param first the first number
 * @returns their number
 */
export async function numberResources(runner: Runner, resources: Sql, first: number): Promise<number> {
  await runner.run(
    sql`CREATE TEMP TABLE fhirgraph_number (resource uuid NOT NULL, n int NOT NULL, shape uuid NOT NULL) ON COMMIT DROP`,
  );
  await runner.run(sql`INSERT INTO fhirgraph_number
    SELECT y.key, (row_number() OVER (ORDER BY y.key) - 1)::int + ${first}::int, y.shape FROM (${resources}) y`);
  await runner.run(sql`ANALYZE fhirgraph_number`);
  const [[count]] = (await runner.run(sql`SELECT count(*) FROM fhirgraph_number`)) as [[unknown]];
  return Number(count);
}

/** Writes the keys of numbered resources: see skip-row.ts. */
export async function writeKeys(
  runner: Runner,
  { project, type }: Pick<RowScope, 'project' | 'type'>,
  { mark, first, size }: SkipLayer,
): Promise<void> {
  const of = sql`${projectKey(project)}::uuid, ${type}::text`;
  await runner.run(sql`INSERT INTO fhirgraph_made_key SELECT ${of}, n & ${-KEYS_IN_ROW}::int, array_agg(resource ORDER BY n)
    FROM fhirgraph_number GROUP BY 3`);
  for (const [row, name] of keyNames(size).entries()) {
    const from = first + row * KEYS_TOGETHER;
    await runner.run(sql`INSERT INTO fhirgraph_made (project, type, sort, subject, value, data)
      SELECT ${of}, ${SETS}::bigint, ${IDS}::bigint, ${mark + name}::text, encode(string_agg(uuid_send(resource), '' ORDER BY n), 'base64')
      FROM fhirgraph_number WHERE n >= ${from}::int AND n < ${from + KEYS_TOGETHER}::int`);
  }
}

/** The numbers of resources that have values of the same parameters. */
export interface NumbersOfShape {
  /** The keys of the parameters; negative if the resources have several values. */
  readonly parameters: readonly number[];
  readonly own: Int32Array;
}

/** The numbered resources by their shapes. */
export async function* numbersByShape(
  runner: Runner,
  { project, type }: Pick<RowScope, 'project' | 'type'>,
): AsyncGenerator<NumbersOfShape> {
  const rows = await runner.run(sql`SELECT array_to_string(s.parameters, ','), m.data
    FROM (SELECT shape, ${numbers(sql`n`)} AS data FROM fhirgraph_number GROUP BY shape) m
    JOIN fhirgraph_shape s ON s.key = m.shape WHERE ${ofType(project, type)}`);
  for (const [text, data] of rows as readonly (readonly [string, string])[]) {
    yield { parameters: text === '' ? [] : text.split(',').map(Number), own: numbersIn(data) };
  }
}

/** Divides parameters into those that are read together. @param values maximum values that one statement reads */
export function* parametersTogether(
  parameters: readonly number[],
  resources: number,
  values: number,
): Generator<readonly number[]> {
  const together = Math.max(1, Math.floor(values / Math.max(1, resources)));
  for (let start = 0; start < parameters.length; start += together) yield parameters.slice(start, start + together);
}
