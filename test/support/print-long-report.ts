import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TrialRow } from './long-report.js';

/** Prints the results of the long tests, after all of them. */
export function teardown(): void {
  const file = process.env.FHIRGRAPH_LONG_REPORT;
  if (file === undefined || !existsSync(file)) return;
  const rows = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as TrialRow);
  rmSync(dirname(file), { recursive: true });
  console.log(`\n${tableOf(rows.toSorted((one, other) => (one.name < other.name ? -1 : 1))).join('\n')}\n`);
}

function tableOf(rows: readonly TrialRow[]): readonly string[] {
  const sum = (count: (row: TrialRow) => number): number => rows.reduce((total, row) => total + count(row), 0);
  const total: TrialRow = {
    name: 'all',
    trials: sum((row) => row.trials),
    faults: sum((row) => row.faults),
    violations: sum((row) => row.violations),
  };
  const cells = [...rows, total].map((row) => [row.name, ...[row.trials, row.faults, row.violations].map(String)]);
  const lines = [['trials of', 'trials', 'faults injected', 'violations'], ...cells];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map(
    (line) =>
      `| ${line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join(' | ')} |`,
  );
}
