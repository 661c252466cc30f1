import type { KeySet } from '../../sql/skip/key-set.js';
import { list, Sql, sql } from '../../sql/sql.js';
import type { Run } from '../run.js';
import type { SkipIndex } from './skip-index.js';
import { SKIP_TUNING } from './skip-row.js';

export interface FoundByScans {
  readonly sets: readonly (KeySet | undefined)[];
  readonly texts: readonly string[];
}

/**
 * What scans of keys find, of those that the index has, and some texts: by one statement. Undefined where a scan finds much.
 *
 * PERF: the server finds the numbers of few keys, this process those of many.
 */
export async function setsOfScans(
  scans: readonly Sql[],
  index: SkipIndex,
  run: Run,
  texts: readonly Sql[] = [],
): Promise<FoundByScans> {
  if (scans.length + texts.length === 0) return { sets: [], texts: [] };
  const { maxScanned } = SKIP_TUNING;
  const { maxNumbered } = index;
  const lists = scans.map(
    (scan, place) => sql`${named(place)} (key) AS MATERIALIZED (SELECT * FROM (${scan}) u LIMIT ${maxScanned + 1})`,
  );
  const columns = scans.flatMap((_, place) => {
    const count = sql`(SELECT count(*) FROM ${named(place)})`;
    const few = sql`SELECT key FROM ${named(place)} WHERE ${count} <= ${maxNumbered}`;
    const many = sql`SELECT encode(string_agg(uuid_send(key), ''), 'base64') FROM ${named(place)}`;
    return [
      count,
      sql`(SELECT string_agg(n.n::text, ',') FROM (${index.numbersOf(few)}) n)`,
      sql`CASE WHEN ${count} > ${maxNumbered} AND ${count} <= ${maxScanned} THEN (${many}) END`,
    ];
  });
  const selected = sql`SELECT ${list([...columns, ...texts])}`;
  const [row] = await run(lists.length === 0 ? selected : sql`WITH ${list(lists)} ${selected}`);
  const sets: (KeySet | undefined)[] = [];
  for (const place of scans.keys()) {
    const [count, numbers, keys] = row!.slice(3 * place) as [unknown, string | null, string | null];
    const set = Number(count) > maxScanned ? undefined : index.emptySet();
    if (numbers !== null) for (const number of numbers.split(',')) set?.add(Number(number));
    if (keys !== null) {
      for (const number of await index.placesOf(Buffer.from(keys, 'base64'))) set!.add(number);
      if (index.isLayered) set!.intersect(index.all);
    }
    sets.push(set);
  }
  return { sets, texts: row!.slice(3 * scans.length).map((text) => (text ?? '') as string) };
}

function named(place: number): Sql {
  return new Sql(`k${place}`, []);
}
