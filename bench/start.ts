import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { summary } from './measure.js';
import type { BenchQuery, Variables } from './queries.js';

/** Time and memory of fresh processes. */
export interface Start {
  /** Milliseconds from spawn to exit. */
  readonly median: number;
  readonly spread: number;
  /** Peak memory of the process (resident set), in MB; 0 for the bare process and the floor, which do not report it. */
  readonly memory: number;
}

const CHILD = fileURLToPath(new URL('./start-child.mjs', import.meta.url));
const FLOOR = fileURLToPath(new URL('./start-floor.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../dist/index.js', import.meta.url));

/** True after `npm run build`: the bench measures the built package. */
export function isBuilt(): boolean {
  return existsSync(BUILT);
}

/**
 * Starts processes in turn: `node -e 0`, the smallest program that answers GraphQL over SQLite, and a process per query that
 * imports the built package, opens the SQLite file, answers once and ends.
 *
 * @returns first the bare process, then the floor, then the process of each query
 */
export function measureStarts(
  file: string,
  project: string,
  queries: readonly BenchQuery[],
  variables: Variables,
  rounds: number,
): Start[] {
  const commands = [
    ['-e', '0'],
    [FLOOR, file, project, variables.patient],
    ...queries.map((query) => [CHILD, file, project, query.text, JSON.stringify(variables)]),
  ];
  const runs = commands.map((): { readonly time: number; readonly memory: number }[] => []);
  for (let round = 0; round < rounds; round++) {
    commands.forEach((command, index) => runs[index]!.push(runOnce(command)));
  }
  return runs.map((samples) => ({
    ...summary(samples.map(({ time }) => time)),
    memory: summary(samples.map(({ memory }) => memory)).median,
  }));
}

function runOnce(command: readonly string[]): { readonly time: number; readonly memory: number } {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  const time = performance.now() - start;
  if (status !== 0) throw new Error(`A fresh process failed: ${stderr}`);
  return { time, memory: Number(stdout) / 1000 };
}
