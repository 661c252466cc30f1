import '../scripts/assert-node.mjs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { AttackReport } from '../test/graphql/hostile/run-attacks.js';
import { table } from './table.js';

/** The limits of a refusal, in milliseconds and MB. */
const MOST_TIME = 250;
const MOST_MEMORY = 100;

const PROGRAM = fileURLToPath(new URL('../test/graphql/hostile/run-attacks.ts', import.meta.url));

/**
 * `npm run bench:hostile [-- part of a name]`: the corpus of hostile documents, slowest first. Each is sent once in each
 * of three processes, because a process caches the documents that it has seen. The shortest time and the most memory count.
 */
function main(part: string): void {
  const [first, ...others] = Array.from({ length: 3 }, () => attack(part));
  const reports = first!
    .map((report, index) => others.reduce((best, other) => together(best, other[index]!), report))
    .sort((a, b) => b.time - a.time);
  console.log(table([['attack', 'dialect', 'ms', 'MB', 'outcome', 'by', ''], ...reports.map(row)]));
  const slow = reports.filter((report) => verdict(report) !== '').length;
  console.log(
    `\n${reports.length} attacks, ${slow} above ${MOST_TIME} ms or ${MOST_MEMORY} MB or with another outcome`,
  );
}

function attack(part: string): AttackReport[] {
  const flags = ['--max-old-space-size=400', '--expose-gc', '--import', 'tsx', PROGRAM, part];
  const { status, stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`The process with the attacks ended early: ${stderr}`);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as AttackReport);
}

function together(one: AttackReport, other: AttackReport): AttackReport {
  const memory = one.memory === null || other.memory === null ? null : Math.max(one.memory, other.memory);
  return { ...other, time: Math.min(one.time, other.time), memory };
}

function row(report: AttackReport): string[] {
  const { name, dialect, time, memory, outcome, limit } = report;
  const by = limit === undefined ? '' : String(limit);
  return [name, dialect, time.toFixed(1), memory?.toFixed(0) ?? '?', outcome, by, verdict(report)];
}

function verdict({ time, memory, outcome, expected }: AttackReport): string {
  if (outcome !== expected) return `MISS (${expected})`;
  return time > MOST_TIME || (memory ?? 0) > MOST_MEMORY ? 'MISS' : '';
}

main(process.argv[2] ?? '');
