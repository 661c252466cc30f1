import '../../scripts/assert-node.mjs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, executeFhirGraphql, signIn, systemCaller } from 'fhirgraph';
import { BROAD_QUESTIONS } from './broad-questions.js';
import { openStore } from './open-store.js';
import { quantilesOf } from './time-queries.js';

// Asks one broad question of a file or database, in a process of its own: FILE QUESTION RUNS. Prints microseconds as JSON.

const [file, number, runs] = process.argv.slice(2) as [string, string, string];
const { text, underPolicy, pages = 0 } = BROAD_QUESTIONS[Number(number)]!;
const { store, close } = openStore(file);
const caller: Caller =
  underPolicy === true ? await signIn(store, { project: 'broad', user: 'User/limited' }) : systemCaller('broad');

let cursor: string | undefined;
for (let turn = 0; turn < pages; turn++) cursor = (await ask()).next;
const stalls = monitorEventLoopDelay({ resolution: 1 });
const times: number[] = [];
await ask();
stalls.enable();
for (let run = 0; run < Number(runs); run++) {
  const start = performance.now();
  await ask();
  times.push((performance.now() - start) * 1000);
  await delay(1);
}
stalls.disable();
console.log(JSON.stringify({ ...quantilesOf(times), stall: stalls.max / 1000 }));
await close();

async function ask(): Promise<{ readonly next?: string }> {
  const { data, errors } = await executeFhirGraphql(text, { store, caller, variables: { cursor } });
  if (errors !== undefined) throw new Error(errors[0]!.message);
  return (Object.values(data as object)[0] ?? {}) as { readonly next?: string };
}
