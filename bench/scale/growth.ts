import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { importNdjson, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { duration, table } from '../table.js';
import { Lines } from './lines.js';
import type { Quantiles } from './measured.js';
import { SCALE_QUERIES } from './queries.js';
import { timeQuery } from './time-queries.js';

/** Prints the import rate, file size, memory and the times of ten queries while one SQLite file grows. */
export async function growOneProject(folder: string, sizes: readonly number[], runs: number): Promise<void> {
  const file = join(folder, 'one.db');
  const store = new SqliteStore(file);
  const context = { store, caller: systemCaller('scale') };
  const lines = new Lines();
  const facts = [['resources', 'NDJSON', 'file', 'import', 'peak memory']];
  const timings = SCALE_QUERIES.map((): Quantiles[] => []);
  for (const size of sizes) {
    const count = size - lines.count;
    const memory = watchMemory();
    const start = performance.now();
    const { failed } = await importNdjson(Readable.from(lines.take(count)), context);
    if (failed > 0) throw new Error(`${failed} lines were refused`);
    const rate = (count * 1000) / (performance.now() - start);
    const most = memory.stop();
    const row = [lines.bytes, sizeOf(file)].map((bytes) => `${(bytes / 1e6).toFixed(0)} MB`);
    facts.push([String(size), ...row, `${rate.toFixed(0)} /s`, `${most.toFixed(0)} MB`]);
    console.error(facts.at(-1)!.join('  '));
    // Otherwise the first size would pay for compiling the code that all sizes run.
    if (size === sizes[0]) for (const query of SCALE_QUERIES) await timeQuery(query, lines.known, context, 10 * runs);
    for (const [index, query] of SCALE_QUERIES.entries()) {
      timings[index]!.push(await timeQuery(query, lines.known, context, runs));
    }
  }
  await store.close();
  console.log(`\nOne project grows; lines are generated while they are read\n\n${table(facts)}\n`);
  const head = ['query: p50, p95', ...sizes.map(String), `p50: ${sizes.at(-1)} / ${sizes[0]}`];
  const rows = SCALE_QUERIES.map(({ name, kind }, index) => {
    const cells = timings[index]!.map(({ p50, p95 }) => `${duration(p50)}, ${duration(p95)}`);
    const growth = timings[index]!.at(-1)!.p50 / timings[index]![0]!.p50;
    return [`${name} (${kind})`, ...cells, `${growth.toFixed(1)} ×`];
  });
  console.log(`${table([head, ...rows])}\n`);
  const logarithm = Math.log(sizes.at(-1)!) / Math.log(sizes[0]!);
  console.log(`The data grew ${sizes.at(-1)! / sizes[0]!} ×, their logarithm ${logarithm.toFixed(1)} ×.`);
}

/** The size including the write-ahead log. */
function sizeOf(file: string): number {
  return statSync(file).size + statSync(`${file}-wal`).size;
}

/** The peak memory of the process from now on, in MB. */
function watchMemory(): { stop(): number } {
  let most = 0;
  const look = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  look();
  const timer = setInterval(look, 100);
  return {
    stop() {
      clearInterval(timer);
      look();
      return most / 1e6;
    },
  };
}
