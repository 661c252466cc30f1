// A process that increments counters which others also increment: `node --import tsx counter.ts FILE NAME TIMES
// SEED PROCESSES`. It begins when all of the processes have started.
// It ends with a line of JSON on its standard output; see CounterReport.

import { FhirError } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { below, createRandom, keyOf, put, queryOf, resourceOf } from '../kit.js';

/** The result of one process. */
export interface CounterReport {
  /** Every addition that was acknowledged: the counter, and the version it got. */
  readonly done: readonly (readonly [counter: string, version: string])[];
  /** Additions that came too late, and were retried. */
  readonly overtaken: number;
  /** Commits that could not get the lock within the busy timeout. */
  readonly locked: number;
}

const [file, name, times, seed, processes] = process.argv.slice(2) as [string, string, string, string, string];
const random = createRandom(Number(seed));
const store = await openStore();
const done: [string, string][] = [];
let [overtaken, locked] = [0, 0];

// Read before the others have started, so that of their first additions, all to this counter, all but one come too late.
let [stale] = await store.read([keyOf('Basic', 'c0')]);
for (let written = false; !written;) {
  written = await store.commit([put(resourceOf('Device', name))]).then(
    () => true,
    () => false,
  );
}
while ((await store.search(queryOf('Device'))).matches.length < Number(processes)) await pause();

while (done.length < Number(times)) {
  const id = stale === undefined ? `c${below(3, random)}` : 'c0';
  const [before] = stale === undefined ? await store.read([keyOf('Basic', id)]) : [stale];
  stale = undefined;
  const version = before?.status === 'found' ? before.versionId : null;
  const value = before?.status === 'found' ? (before.resource as { value?: number }).value! : 0;
  // Lets other processes write in between.
  if (random() < 0.3) await pause();
  try {
    const resource = resourceOf('Basic', id, { value: value + 1, author: { display: name } });
    const [result] = await store.commit([put(resource, { expect: { version } })]);
    done.push([id, result?.kind === 'put' ? result.versionId : '']);
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    if (error.code === 'precondition-failed') overtaken += 1;
    else if (error.code === 'unavailable') locked += 1;
    else throw error;
  }
}
await store.close();
console.log(JSON.stringify({ done, overtaken, locked } satisfies CounterReport));

/** Opens the file once no other process holds its lock longer than the busy timeout, as while it creates its tables. */
async function openStore(): Promise<SqliteStore> {
  for (;;) {
    try {
      return new SqliteStore(file, { busyTimeout: 50, synchronous: 'normal' });
    } catch (error) {
      if (!(error instanceof FhirError) || error.code !== 'unavailable') throw error;
      await pause();
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
