import type { KeySet } from '../../../sql/skip/key-set.js';
import { list, Sql, sql } from '../../../sql/sql.js';
import type { Run } from '../../database/run.js';
import type { SkipIndex } from '../read/skip-index.js';
import { SKIP_TUNING } from '../../rows/skip-row.js';

export interface FoundByScans {
  readonly sets: readonly (KeySet | undefined)[];
  readonly texts: readonly string[];
}

/** A scan of keys. */
export interface ShortScan {
  readonly scan: Sql;
  /** Maximum rows to read. Default: `SKIP_TUNING.maxScanned`. */
  readonly most?: number | undefined;
}

/** A scan, and the receiver of its set. */
export interface KeptScan extends ShortScan {
  keep(set: KeySet | undefined): void;
}

/**
 * Reads scans of keys as sets, and some texts, by one statement. A set has the keys that the index has; it is undefined if the
 * scan finds too many.
 *
 * PERF: the server finds the numbers of few keys, this process those of many.
 */
export async function setsOfScans(
  scans: readonly ShortScan[],
  index: SkipIndex,
  run: Run,
  texts: readonly Sql[] = [],
): Promise<FoundByScans> {
  if (scans.length + texts.length === 0) return { sets: [], texts: [] };
  const { maxNumbered } = index;
  const most = scans.map((one) => one.most ?? SKIP_TUNING.maxScanned);
  const lists = scans.map(
    ({ scan }, place) =>
      sql`${named('k', place)} (key) AS MATERIALIZED (SELECT * FROM (${scan}) u LIMIT ${most[place]! + 1})`,
  );
  // PERF: counts the rows of a scan once.
  const counts = scans.map((_, place) => sql`(SELECT count(*) AS size FROM ${named('k', place)}) ${named('c', place)}`);
  const columns = scans.flatMap((_, place) => {
    const [key, size] = [sql`SELECT key FROM ${named('k', place)}`, sql`${named('c', place)}.size`];
    return [
      size,
      sql`CASE WHEN ${size} <= ${maxNumbered} THEN (SELECT string_agg(n.n::text, ',') FROM (${index.numbersOf(key)}) n) END`,
      sql`CASE WHEN ${size} > ${maxNumbered} AND ${size} <= ${most[place]!} THEN (
        SELECT encode(string_agg(uuid_send(key), ''), 'base64') FROM ${named('k', place)}) END`,
    ];
  });
  const selected = sql`SELECT ${list([...columns, ...texts])}`;
  const [row] = await run(lists.length === 0 ? selected : sql`WITH ${list(lists)} ${selected} FROM ${list(counts)}`);
  const sets: (KeySet | undefined)[] = [];
  for (const place of scans.keys()) {
    const [count, numbers, keys] = row!.slice(3 * place) as [unknown, string | null, string | null];
    const set = Number(count) > most[place]! ? undefined : index.emptySet();
    if (numbers !== null) for (const number of numbers.split(',')) set?.add(Number(number));
    if (keys !== null) {
      for (const number of await index.placesOf(Buffer.from(keys, 'base64'))) set!.add(number);
      if (index.isLayered) set!.intersect(index.all);
    }
    sets.push(set);
  }
  return { sets, texts: row!.slice(3 * scans.length).map((text) => (text ?? '') as string) };
}

function named(letter: string, place: number): Sql {
  return new Sql(`${letter}${place}`, []);
}
