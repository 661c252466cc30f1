import '../../scripts/assert-node.mjs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, executeFhirGraphql, signIn, systemCaller } from 'fhirgraph';
import { BROAD_QUESTIONS } from './broad-questions.js';
import { type Measured, quantilesOf } from './measured.js';
import { openStore } from './open-store.js';
import { Turns } from './turns.js';

// Asks one broad question of a store, in a process of its own. Prints the measurements as JSON.

/** The argument of the child, as JSON. */
export interface Task {
  readonly place: string;
  readonly question: number;
  readonly size: number;
  readonly runs: number;
  /** Time limit of all runs together, and of each run. The first three runs always happen. */
  readonly milliseconds: number;
}

interface Page {
  readonly next?: string | null;
}

const LEAST_RUNS = 3;
/** Number of resources before a deep page. An offset reads all of them. */
const MOST_BEFORE = 30_000;
const task = JSON.parse(process.argv[2]!) as Task;
const { text, member, first } = BROAD_QUESTIONS[task.question]!;
const { store, cpu, close } = await openStore(task.place);
const caller: Caller =
  member === undefined ? systemCaller('broad') : await signIn(store, { project: 'broad', user: `User/${member}` });

let cursor: string | undefined;
if (first !== undefined) {
  cursor = (await answer(first, { offset: Math.min(task.size / 10, MOST_BEFORE) })).next ?? undefined;
  if (cursor === undefined) throw new Error('The result has no page at this offset');
}
await ask(0);
const times = { cpu: [] as number[], wall: [] as number[] };
const end = performance.now() + task.milliseconds;
while (times.cpu.length < LEAST_RUNS || (times.cpu.length < task.runs && performance.now() < end)) {
  const [started, used] = [performance.now(), cpu()];
  await ask(times.cpu.length);
  times.wall.push((performance.now() - started) * 1000);
  times.cpu.push(cpu() - used);
  await delay(1);
}
const measured: Measured = {
  cpu: quantilesOf(times.cpu),
  wall: quantilesOf(times.wall),
  stall: await longestTurn(),
  runs: times.cpu.length,
};
console.log(JSON.stringify(measured));
await close();

/** Separate from the timed runs, because watching takes CPU time. */
async function longestTurn(): Promise<number> {
  const turns = new Turns();
  turns.start();
  for (let run = 0; run < LEAST_RUNS; run++) await ask(run);
  return turns.stop();
}

function ask(run: number): Promise<Page> {
  return answer(text(run), { cursor });
}

async function answer(query: string, variables: { readonly [name: string]: unknown }): Promise<Page> {
  const limits = { timeout: task.milliseconds };
  const { data, errors } = await executeFhirGraphql(query, { store, caller, variables, limits });
  if (errors?.[0]?.extensions.details?.['limit'] === 'timeout') {
    console.log('"limit"');
    process.exit(0);
  }
  if (errors !== undefined) throw new Error(errors[0]!.message);
  return (Object.values(data as object)[0] ?? {}) as Page;
}
