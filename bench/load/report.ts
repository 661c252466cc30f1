import { table } from '../table.js';
import { quantile, type Sample } from './clients.js';
import { type Kind, KINDS } from './mix.js';
import type { Measured } from './servers.js';

/** The measurements of one server: a line of each table. */
export interface Line {
  readonly name: string;
  /** Rounds of the mix. */
  readonly rounds: readonly Measured[];
  /** Rounds with requests of one kind; empty beside other work. */
  readonly kinds?: ReadonlyMap<Kind, readonly Measured[]> | undefined;
}

/** Throughput and latency of the mix, CPU time by kind of the service and of its database, latency by kind. */
export function report(lines: readonly Line[]): string {
  const hasDatabase = lines.some(({ rounds }) => rounds.some(({ database }) => database !== undefined));
  return [
    cpuTable('CPU time of the service per request', lines, ({ cpu }) => cpu),
    ...(hasDatabase ? [cpuTable('CPU time of PostgreSQL per request', lines, ({ database }) => database!)] : []),
    table([
      ['The mix', 'requests/s', 'p50', 'p99', 'p99/p50', 'stall', 'failed'],
      ...lines.map(({ name, rounds }) => [name, ...mixCells(rounds)]),
    ]),
    table([
      ['p50 and p99 by kind', ...KINDS],
      ...lines.map(({ name, rounds }) => [name, ...KINDS.map((kind) => latencies(samplesOf(rounds, kind)))]),
    ]),
  ].join('\n\n');
}

function cpuTable(title: string, lines: readonly Line[], cpuOf: (round: Measured) => number): string {
  const median = (rounds: readonly Measured[]): string => milliseconds(quantile(rounds.map(cpuOf), 0.5), 2);
  const rows = lines.flatMap(({ name, rounds, kinds }) =>
    kinds === undefined ? [] : [[name, ...KINDS.map((kind) => median(kinds.get(kind)!)), median(rounds)]],
  );
  return table([[title, ...KINDS, 'mix'], ...rows]);
}

function mixCells(rounds: readonly Measured[]): string[] {
  const samples = samplesOf(rounds);
  const [p50, p99] = [quantile(timesOf(samples), 0.5), quantile(timesOf(samples), 0.99)];
  return [
    quantile(
      rounds.map(({ rate }) => rate),
      0.5,
    ).toFixed(0),
    milliseconds(p50, 1),
    milliseconds(p99, 1),
    (p99 / p50).toFixed(1),
    milliseconds(Math.max(...rounds.map(({ stall }) => stall)), 0),
    String(samples.filter(({ ok }) => !ok).length),
  ];
}

function latencies(samples: readonly Sample[]): string {
  const times = timesOf(samples);
  return `${quantile(times, 0.5).toFixed(0)} / ${quantile(times, 0.99).toFixed(0)} ms`;
}

function samplesOf(rounds: readonly Measured[], kind?: Kind): readonly Sample[] {
  const samples = rounds.flatMap((one) => one.samples);
  return kind === undefined ? samples : samples.filter((one) => one.kind === kind);
}

function timesOf(samples: readonly Sample[]): readonly number[] {
  return samples.map(({ time }) => time);
}

function milliseconds(value: number, digits: number): string {
  return `${value.toFixed(digits)} ms`;
}
