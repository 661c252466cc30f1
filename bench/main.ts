import '../scripts/assert-node.mjs';
import Database from 'better-sqlite3';
import { createAuditLog, MemoryStore } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chooseVariables } from './choose-variables.js';
import { loadData } from './data.js';
import { assertEqualAnswers } from './equal-answers.js';
import { benchPostgresImport } from './import-postgres.js';
import {
  importIndexed,
  importInto,
  importLinesIndexed,
  importLinesPlainly,
  importPlainly,
  importTogether,
  linesOf,
} from './import-rate.js';
import { compare, summary, WARM_UP } from './measure.js';
import { QUERIES, type Variables, type Variant } from './queries.js';
import { readsDuringImport } from './reads-during-import.js';
import { benchScreens } from './screens.js';
import { isBuilt, measureStarts } from './start.js';
import { duration, judged, ratiosTable, table } from './table.js';
import { graphqlWithDataLoader } from './variants/dataloader.js';
import { fhirgraph } from './variants/fhirgraph.js';
import { floor } from './variants/floor.js';

const PROJECT = 'bench';
const SECTIONS = [
  ...QUERIES.map(({ name }) => name),
  'screens',
  'start',
  'import',
  'import-postgres',
  'reads-during-import',
];
/** Targets, including access decisions. Ratios are to the floor of the same run; the ratio of bytes is to the NDJSON. */
const TARGETS = { cold: 1.3, warm: 1, start: 1.3, startMemory: 120, import: 2, bytes: 2.3 };

const HELP = `npm run bench -- [options]
  --data DIR     Synthea transaction Bundles (.json, .json.gz); default ../shared/data/synthea if it is there,
                 generated data otherwise
  --patients N   patients to load (default 100)
  --rounds N     rounds per query (default 25)
  --only NAMES   some of: ${SECTIONS.join(', ')}`;

const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: fileURLToPath(new URL('../../shared/data/synthea', import.meta.url)) },
    patients: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '25' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) console.log(HELP);
else await bench();

async function bench(): Promise<void> {
  const only = options.only?.split(',') ?? SECTIONS;
  const unknown = only.filter((name) => !SECTIONS.includes(name));
  if (unknown.length > 0) throw new Error(`Unknown section ${unknown.join(', ')}\n${HELP}`);
  const rounds = Number(options.rounds);
  const data = loadData(options.data, Number(options.patients));
  const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-bench-'));
  try {
    const file = join(folder, 'bench.db');
    const first = await importIndexed(data.bundles, file, PROJECT);
    const resources = countResources(file);
    console.log(
      `Machine   ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${process.platform}, Node.js ${process.version}`,
    );
    console.log(`Data      ${data.source}: ${resources} resources`);
    console.log(`Rule      ${WARM_UP} ms warm-up each; ${rounds} interleaved rounds, order reversed in every second;`);
    console.log('          median ± interquartile range; × is the ratio to the floor; equal answers are proven first');
    const variables = chooseVariables(file, PROJECT);
    await benchQueries(only, file, data.bundles, variables, rounds);
    if (only.includes('screens')) await benchScreens(folder, Number(options.patients), rounds);
    if (only.includes('start')) benchStart(file, variables);
    if (only.includes('import')) await benchImport(data.bundles, folder, first, resources);
    if (only.includes('import-postgres')) await benchPostgresImport();
    if (only.includes('reads-during-import')) await benchReadsDuringImport(data.bundles, folder, file, variables);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchQueries(
  only: readonly string[],
  file: string,
  bundles: readonly string[],
  variables: Variables,
  rounds: number,
): Promise<void> {
  const queries = QUERIES.filter(({ name }) => only.includes(name));
  if (queries.length === 0) return;
  const database = new Database(file, { readonly: true });
  const memory = new MemoryStore();
  const cold = new SqliteStore(file, { cacheBytes: 0 });
  const warm = new SqliteStore(file);
  await importInto(memory, bundles, PROJECT);
  // In a separate file next to the data, with the same durability.
  const trail = new SqliteStore(`${file}.audit`);
  const log = createAuditLog({ store: trail });
  const variants: readonly Variant[] = [
    floor(database, PROJECT),
    graphqlWithDataLoader(database, PROJECT),
    fhirgraph('SQLite, cold cache', cold, PROJECT),
    fhirgraph('SQLite, warm cache', warm, PROJECT),
    fhirgraph('memory', memory, PROJECT),
    fhirgraph('SQLite, warm cache, audit', warm, PROJECT, { audit: () => undefined }),
    fhirgraph('SQLite, warm cache, audit log', warm, PROJECT, { audit: log.audit, requireAudit: true }),
  ];
  const answers = new Map<string, number>();
  for (const query of queries) answers.set(query.name, await assertEqualAnswers(variants, query, variables));

  for (const query of queries) {
    const subjects = variants.map((variant) => ({ name: variant.name, run: variant.prepare(query, variables) }));
    const timings = await compare(subjects, rounds);
    const targets = { 'SQLite, cold cache': TARGETS.cold, 'SQLite, warm cache': TARGETS.warm };
    console.log(`\n${ratiosTable(`${query.what}, ${kilobytes(answers.get(query.name)!)}`, timings, targets)}`);
  }
  database.close();
  await log.close();
  await Promise.all([cold.close(), warm.close(), memory.close(), trail.close()]);
}

function benchStart(file: string, variables: Variables): void {
  if (!isBuilt()) {
    console.log('\nStart: skipped because dist does not exist; run "npm run build" first');
    return;
  }
  const queries = QUERIES.filter(({ name }) => name === 'one-patient' || name === 'reverse');
  const [bare, least, ...starts] = measureStarts(file, PROJECT, queries, variables, 11);
  const rows = starts.map(({ median, spread, memory }, index) => [
    `import, open, ${queries[index]!.what}`,
    duration(median * 1000),
    `± ${duration(spread * 1000)}`,
    judged(median / least!.median, TARGETS.start),
    judged(memory, TARGETS.startMemory, 'MB'),
  ]);
  const plain = (name: string, { median, spread }: typeof bare & object, ratio: string): string[] => [
    name,
    duration(median * 1000),
    `± ${duration(spread * 1000)}`,
    ratio,
    '',
  ];
  const floors = [plain('node -e 0', bare!, ''), plain('graphql-js, better-sqlite3, one field', least!, '1.00')];
  console.log(`\n${table([['fresh process', 'median', 'spread', '×', 'memory'], ...floors, ...rows])}`);
}

/** @param first milliseconds of the import that wrote the file */
async function benchImport(
  bundles: readonly string[],
  folder: string,
  first: number,
  resources: number,
): Promise<void> {
  const lines = linesOf(bundles);
  const times = { plain: [], indexed: [first], together: [], 'lines-plain': [], lines: [] } as Record<string, number[]>;
  const fileOf = (name: string, round: number): string => join(folder, `${name}-${round}.db`);
  for (let round = 0; round < 3; round++) {
    times['plain']!.push(importPlainly(bundles, fileOf('plain', round)));
    if (round > 0) times['indexed']!.push(await importIndexed(bundles, fileOf('indexed', round), PROJECT));
    times['together']!.push(await importTogether(bundles, fileOf('together', round), PROJECT));
    times['lines-plain']!.push(importLinesPlainly(lines, fileOf('lines-plain', round)));
    times['lines']!.push(await importLinesIndexed(lines, fileOf('lines', round), PROJECT));
  }
  const row = (title: string, name: string, base?: string): string[] => {
    const { median, spread } = summary(times[name]!);
    const { size } = statSync(fileOf(name, 1));
    const ratio = median / summary(times[base ?? name]!).median;
    const shown = (value: number, target: number): string =>
      base === undefined ? value.toFixed(2) : judged(value, target);
    return [
      title,
      duration(median * 1000),
      `± ${duration(spread * 1000)}`,
      `${Math.round((resources / median) * 1000)}/s`,
      shown(ratio, TARGETS.import),
      `${Math.round(size / resources)}`,
      shown(size / lines.length, TARGETS.bytes),
    ];
  };
  console.log(
    `\n${table([
      [`import of ${resources} resources`, 'median', 'spread', 'rate', '×', 'bytes per resource', '× NDJSON'],
      row('Bundles: loader without search index', 'plain'),
      row('importBundle into SqliteStore, each awaited', 'indexed', 'plain'),
      row('importBundles into SqliteStore', 'together', 'plain'),
      row('NDJSON: loader without search index', 'lines-plain'),
      row('importNdjson into SqliteStore', 'lines', 'lines-plain'),
    ])}`,
  );
}

/** Measures reads of one Patient through the engine, while the same Bundles are imported into another project of the file. */
async function benchReadsDuringImport(
  bundles: readonly string[],
  folder: string,
  file: string,
  variables: Variables,
): Promise<void> {
  let copies = 0;
  const makeFile = (): string => {
    const copy = join(folder, `reads-${(copies += 1)}.db`);
    copyFileSync(file, copy);
    return copy;
  };
  const query = QUERIES.find(({ name }) => name === 'one-patient')!;
  const prepare = (store: SqliteStore): (() => unknown) => fhirgraph('reads', store, PROJECT).prepare(query, variables);
  const rows = (await readsDuringImport(makeFile, bundles, prepare)).map(
    ({ name, median, p99, longest, resourcesPerSecond }) => [
      name,
      ...[median, p99, longest].map((milliseconds) => duration(milliseconds * 1000)),
      resourcesPerSecond === undefined ? '' : `${Math.round(resourcesPerSecond)}/s`,
    ],
  );
  console.log(`\n${table([['a read every 5 ms', 'median', 'p99', 'longest', 'import'], ...rows])}`);
}

function countResources(file: string): number {
  const database = new Database(file, { readonly: true });
  const count = database.prepare('SELECT count(*) FROM resource WHERE content IS NOT NULL').pluck().get() as number;
  database.close();
  return count;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB of JSON`;
}
