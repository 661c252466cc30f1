import { Pace } from '../../../platform/pace.js';
import { pageOf } from '../../../store/guards.js';
import { deletionOf } from '../../../store/removal.js';
import type { HistoryEntry, HistoryPage, VersionRange } from '../../../store/history.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { ReadResult } from '../../../store/stored-resource.js';
import { parseStored, parseStoredPart } from '../../sql/parse-stored.js';
import { type Sql, sql } from '../../sql/sql.js';
import { arrayText, rowsOf } from '../rows/array.js';
import { byKey } from '../rows/by-key.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { boundedText, sizeOf, takesText } from '../rows/bounded-texts.js';
import { projectKey, resourceKey } from '../rows/keys.js';
import type { Run } from '../database/run.js';
import { prepared } from '../database/statements.js';

/** Reads resources of any projects, by a statement for each. Same length, same order. */
export async function readProjects(
  keys: readonly ResourceKey[],
  runOn: (project: string) => Run,
  texts?: CallTexts,
): Promise<readonly SizedResult[]> {
  const results: SizedResult[] = [];
  await Promise.all(
    [...Map.groupBy(keys.entries(), ([, { project }]) => project)].map(async ([project, ofProject]) => {
      const answers = await read(
        ofProject.map(([, key]) => key),
        runOn(project),
        texts,
      );
      ofProject.forEach(([index], position) => (results[index] = answers[position]!));
    }),
  );
  return results;
}

/** Reads the current state, or the given version, of each key. All keys are of one project. */
async function read(keys: readonly ResourceKey[], run: Run, texts?: CallTexts): Promise<readonly SizedResult[]> {
  const results: SizedResult[] = keys.map(() => NOT_THERE);
  const current = keys.flatMap(({ version }, index) => (version === undefined ? [index] : []));
  const versioned = keys.flatMap(({ version }, index) => (isVersion(version) ? [index] : []));
  const answers = await Promise.all(
    [
      { at: current, statement: currentStatement },
      { at: versioned, statement: versionStatement },
    ].map(async ({ at, statement }) => {
      if (at.length === 0) return;
      const rows = await run(bounded(statement(at.map((index) => keys[index]!)), texts, at.length));
      const pace = new Pace();
      for (const [position, ...version] of rows) {
        if (pace.isSpent) await pace.next();
        const index = at[Number(position) - 1]!;
        const row = version as unknown as VersionRow;
        const bytes = sizeOf(row[2]);
        if (bytes === Infinity) {
          results[index] = { ...NOT_THERE, bytes };
          continue;
        }
        results[index] = { result: readResult(row, keys[index]!.elements), bytes };
      }
    }),
  );
  return answers.length === 0 ? [] : results;
}

/** A result, and the length of its text in bytes: Infinity for a text that was not read. */
export interface SizedResult {
  readonly result: ReadResult;
  readonly bytes: number;
}

const NOT_THERE: SizedResult = { result: { status: 'missing' }, bytes: 0 };

/** The statement without the texts that its call may not read. */
function bounded(statement: Sql, texts: CallTexts | undefined, keys: number): Sql {
  if (texts?.isBounded !== true) return statement;
  const text = boundedText(sql`w.content`, texts, keys);
  return prepared(
    sql`SELECT w.position, w.version, w.updated, ${text}, w.erased FROM (${statement}) w (position, version, updated, content, erased)`,
  );
}

/** The statement for current versions: the position of the key from 1 up, then a {@link VersionRow}. */
export function currentStatement(keys: readonly ResourceKey[]): Sql {
  return prepared(sql`SELECT k.position, r.version, r.updated, r.content, r.erased
    FROM ${rowsOf(keys.map(keyOf))} WITH ORDINALITY AS k(key, position)
    CROSS JOIN LATERAL (${byKey(shardOf(keys), sql`k.key`)}) r`);
}

function versionStatement(keys: readonly ResourceKey[]): Sql {
  const shard = shardOf(keys);
  const versions = arrayText(keys.map(({ version }) => Number(version)));
  return sql`SELECT k.position, v.version, v.updated, v.content, v.erased
    FROM unnest(${arrayText(keys.map(keyOf))}::uuid[], ${versions}::int[]) WITH ORDINALITY AS k(key, version, position)
    CROSS JOIN LATERAL (${oneVersion(shard, sql`k.key`, sql`= k.version`)}) AS v`;
}

/** Versions of a resource, newest first. Their numbers have no gaps; the oldest may have been purged. */
export async function history(key: ResourceKey, page: VersionRange, run: Run, texts: CallTexts): Promise<HistoryPage> {
  const { offset, limit = 0 } = pageOf(page);
  const shard = projectKey(key.project);
  const text = boundedText(sql`v.content`, texts, limit);
  const rows = await run(sql`SELECT r.version - r.purged, v.version, v.updated, ${text}, v.erased
    FROM resource r LEFT JOIN LATERAL (${oneVersion(shard, sql`r.key`, sql`<= r.version - ${offset}::int`)}
      ORDER BY version DESC LIMIT ${limit}) AS v ON TRUE
    WHERE r.project = ${shard} AND r.key = ${keyOf(key)} ORDER BY v.version DESC`);
  const entries: HistoryEntry[] = [];
  const pace = new Pace();
  for (const [, ...one] of rows.filter(([, version]) => version !== null)) {
    if (pace.isSpent) await pace.next();
    if (!takesText((one as unknown as VersionRow)[2], texts)) break;
    entries.push(historyEntry(one as unknown as VersionRow));
  }
  return { entries, total: (rows[0]?.[0] as number | undefined) ?? 0 };
}

/** The current version and earlier ones, if their numbers fit a condition. */
function oneVersion(shard: string, key: Sql, fits: Sql): Sql {
  return sql`SELECT c.version, c.updated, c.content, c.erased FROM resource c
      WHERE c.project = ${shard} AND c.key = ${key} AND c.version ${fits}
    UNION ALL SELECT o.version, o.updated, o.content, NULL FROM version o
      WHERE o.project = ${shard} AND o.resource = ${key} AND o.version ${fits}`;
}

type VersionRow = readonly [
  version: number,
  updated: string | number,
  content: string | null,
  /** Why the resource was erased; null: it was not. */
  erased: string | null,
];

function keyOf({ project, type, id }: ResourceKey): string {
  return resourceKey(project, type, id);
}

function shardOf(keys: readonly ResourceKey[]): string {
  return projectKey(keys[0]!.project);
}

function isVersion(version: string | undefined): boolean {
  const number = Number(version);
  return String(number) === version && Number.isInteger(number) && number > 0 && number <= 0x7fffffff;
}

function readResult(
  [version, updated, content, erased]: VersionRow,
  elements: readonly string[] | undefined,
): ReadResult {
  if (content !== null) return { status: 'found', ...parseStoredPart(content, elements) };
  return { status: 'gone', ...deletionOf(version, updated, erased) };
}

function historyEntry([version, updated, content, erased]: VersionRow): HistoryEntry {
  if (content !== null) return { kind: 'put', ...parseStored(content) };
  return { kind: 'delete', ...deletionOf(version, updated, erased) };
}
