import { execFile } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { importNdjson, systemCaller } from 'fhirgraph';
import type { Write } from 'fhirgraph/store';
import { duration, table } from '../table.js';
import { BROAD_QUESTIONS } from './broad-questions.js';
import { openStore } from './open-store.js';
import { skewedLines } from './skewed-lines.js';
import type { Quantiles } from './time-queries.js';

/** How long a process may take for one question, in milliseconds. */
const LIMIT_MS = 60_000;

interface Asked extends Quantiles {
  /** The longest time that the process could do nothing else, in microseconds. */
  readonly stall: number;
}

/**
 * Asks broad questions while one store of skewed data grows, each in a process of its own. Prints a table.
 *
 * @param file of SQLite, or the URL of an empty PostgreSQL database
 */
export async function askBroadQuestions(file: string, sizes: readonly number[], runs: number): Promise<void> {
  const columns: (Asked | undefined)[][] = [];
  let count = 0;
  for (const size of sizes) {
    await growBroad(file, count, size);
    count = size;
    const column: (Asked | undefined)[] = [];
    for (const number of BROAD_QUESTIONS.keys()) column.push(await ask(file, number, runs));
    columns.push(column);
  }
  const head = ['question: p50, p95, longest stall', ...sizes.map(String), 'target for p95'];
  const rows = BROAD_QUESTIONS.map(({ name, target }, number) => [
    name,
    ...columns.map((column) => cell(column[number])),
    `${target} ms`,
  ]);
  console.log(`\nBroad questions over skewed data, each in a fresh process\n\n${table([head, ...rows])}\n`);
  const late = BROAD_QUESTIONS.filter(
    ({ target }, number) => (columns.at(-1)![number]?.p95 ?? Infinity) > target * 1000,
  );
  const names = late.length === 0 ? '' : `: ${late.map(({ name }) => name).join('; ')}`;
  console.log(`${late.length} of ${BROAD_QUESTIONS.length} miss their target at ${sizes.at(-1)}${names}.`);
}

function cell(asked: Asked | undefined): string {
  return asked === undefined ? 'failed' : `${duration(asked.p50)}, ${duration(asked.p95)}, ${duration(asked.stall)}`;
}

export async function growBroad(file: string, from: number, to: number): Promise<void> {
  const { store, close } = openStore(file);
  if (from === 0) await store.commit(limitedMember());
  const { failed } = await importNdjson(Readable.from(skewedLines(from, to)), { store, caller: systemCaller('broad') });
  if (failed > 0) throw new Error(`${failed} lines were refused`);
  await close();
}

/** Undefined where it failed or took too long. */
async function ask(file: string, number: number, runs: number): Promise<Asked | undefined> {
  const child = fileURLToPath(new URL('ask-child.ts', import.meta.url));
  const args = ['--import', 'tsx', child, file, String(number), String(runs)];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: LIMIT_MS });
    return JSON.parse(stdout) as Asked;
  } catch (error) {
    console.error(`${BROAD_QUESTIONS[number]!.name}: ${String(error).slice(0, 500)}`);
    return undefined;
  }
}

/** A member who sees final Observations only. */
function limitedMember(): Write[] {
  const put = (project: string, resource: { readonly resourceType: string; readonly id: string }): Write => ({
    kind: 'put',
    key: { project, type: resource.resourceType, id: resource.id },
    resource,
  });
  const policy = {
    resourceType: 'AccessPolicy',
    id: 'final',
    resource: [{ resourceType: 'Observation', criteria: 'Observation?status=final', interaction: ['read', 'search'] }],
  };
  const membership = {
    resourceType: 'ProjectMembership',
    id: 'limited',
    active: true,
    project: { reference: 'Project/broad' },
    user: { reference: 'User/limited' },
    profile: { reference: 'Practitioner/limited' },
    accessPolicy: { reference: 'AccessPolicy/final' },
  };
  return [
    put('', { resourceType: 'Project', id: 'broad', ...{ name: 'broad', active: true } }),
    put('', { resourceType: 'User', id: 'limited', ...{ email: 'limited@example.org' } }),
    put('broad', { resourceType: 'Practitioner', id: 'limited', ...{ name: [{ family: 'Lee' }] } }),
    put('broad', policy),
    put('broad', membership),
  ];
}
