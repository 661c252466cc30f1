import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { duration, table } from '../table.js';
import type { Task } from './ask-child.js';
import { BROAD_QUESTIONS } from './broad-questions.js';
import type { Home } from './broad-store.js';
import type { Measured } from './measured.js';

export interface BroadOptions {
  readonly sizes: readonly number[];
  readonly runs: number;
  /** Asks only questions with one of these in their names. */
  readonly only: readonly string[];
  /** Time limit of the process of one question, in seconds. */
  readonly limit: number;
}

/** The reason why a question has no figures. */
type Row = Measured | 'limit' | 'failed';

/** The longest turn of the event loop that is not reported, in microseconds. */
const LONGEST_TURN = 50_000;

/** Asks broad questions of stores of several sizes, each in a process of its own. Prints a table per size. */
export async function askBroadQuestions(name: string, home: Home, options: BroadOptions): Promise<void> {
  const asked = [...BROAD_QUESTIONS.keys()].filter((number) => isAsked(number, options.only));
  for (const size of options.sizes) {
    const place = await home.open(size);
    const rows: Row[] = [];
    for (const question of asked) {
      const row = await ask({ place, question, size, runs: options.runs, milliseconds: options.limit * 400 }, options);
      rows.push(row);
      console.error(lineOf(question, row, options.limit).join('  '));
    }
    print(`Broad questions over ${size} resources on ${name}, each in a fresh process`, asked, rows, options);
  }
}

function isAsked(number: number, only: readonly string[]): boolean {
  const { name } = BROAD_QUESTIONS[number]!;
  return only.length === 0 || only.some((part) => name.includes(part));
}

function print(title: string, asked: readonly number[], rows: readonly Row[], { limit }: BroadOptions): void {
  const head = ['question', 'p50 of CPU', 'p95', 'p50 of time', 'p95', 'longest turn', 'target'];
  console.log(`\n${title}\n\n${table([head, ...asked.map((number, at) => lineOf(number, rows[at]!, limit))])}\n`);
  const missed = asked.filter((number, at) => isMissed(BROAD_QUESTIONS[number]!.target, rows[at]!));
  const names = missed.map((number) => BROAD_QUESTIONS[number]!.name).join('; ');
  console.log(`${missed.length} of ${asked.length} miss their target${missed.length === 0 ? '' : `: ${names}`}.`);
  const stalls = rows.map((row) => (typeof row === 'string' ? 0 : row.stall));
  const long = stalls.filter((stall) => stall > LONGEST_TURN).length;
  console.log(`Longest turn of an event loop: ${duration(Math.max(0, ...stalls))}; ${long} took more than 50 ms.`);
}

/** Judges by CPU time, which other work on the machine does not lengthen. */
function isMissed(target: number | undefined, row: Row): boolean {
  return typeof row === 'string' || (target !== undefined && row.cpu.p95 > target * 1000);
}

function lineOf(number: number, row: Row, limit: number): string[] {
  const { name, target } = BROAD_QUESTIONS[number]!;
  const shown = target === undefined ? '-' : `${target} ms`;
  if (typeof row === 'string') {
    const why = row === 'limit' ? `> ${limit} s` : 'failed';
    return [name, why, '-', '-', '-', '-', shown];
  }
  const { cpu, wall, stall } = row;
  return [name, ...[cpu.p50, cpu.p95, wall.p50, wall.p95, stall].map(duration), shown];
}

async function ask(task: Task, { limit }: BroadOptions): Promise<Row> {
  const child = fileURLToPath(new URL('ask-child.ts', import.meta.url));
  const args = ['--import', 'tsx', child, JSON.stringify(task)];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      timeout: limit * 1000,
      killSignal: 'SIGKILL',
    });
    return JSON.parse(stdout) as Row;
  } catch (error) {
    if ((error as { readonly killed?: boolean }).killed === true) return 'limit';
    console.error(`${BROAD_QUESTIONS[task.question]!.name}: ${String(error).slice(0, 500)}`);
    return 'failed';
  }
}
