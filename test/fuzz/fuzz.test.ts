import fc from 'fast-check';
import type * as crypto from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { cases } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';
import * as reading from './reading-surfaces.js';
import { REGRESSIONS } from './regressions.js';
import { RESOURCES } from './seeds.js';
import type { Surface } from './surface.js';
import { openWatchdog, type Watchdog } from './watchdog.js';
import { openWorld, STORES, type World } from './world.js';
import * as writing from './writing-surfaces.js';

/** Ids that are made here are the same ones on every store. */
const ids = vi.hoisted(() => ({ made: 0 }));
vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof crypto>()),
  randomUUID: () => `00000000-0000-4000-9000-${String(ids.made++).padStart(12, '0')}`,
}));

const READING = Object.entries(reading) as [string, Surface<unknown>][];
const WRITING = Object.entries(writing) as [string, Surface<unknown>][];
const PROTOTYPES = prototypes();

const tally = tallyOf('Fuzzed inputs, by each way in');

let watchdog: Watchdog;
let shared: World[];
/** What nobody waits for; Vitest would blame the file and not the input. */
const lost: unknown[] = [];
const onLost = (reason: unknown): void => void lost.push(reason);

beforeAll(async () => {
  watchdog = openWatchdog();
  shared = await openWorlds();
  process.on('unhandledRejection', onLost);
});

afterAll(async () => {
  process.off('unhandledRejection', onLost);
  await watchdog.close();
  await closeAll(shared);
});

test('regressions name surfaces', () => {
  expect([...READING, ...WRITING].map(([name]) => name)).toEqual(expect.arrayContaining(Object.keys(REGRESSIONS)));
});

test.each(READING)('%s: no crash, no hang, no internal error, one answer on every store', async (name, surface) => {
  await assertHarmless(name, surface, cases(60), (work) => work(shared));
});

test.each(WRITING)('%s: no crash, no hang, no internal error, one answer on every store', async (name, surface) => {
  await assertHarmless(name, surface, cases(15), async (work) => {
    const worlds = await openWorlds();
    await work(worlds);
    await closeAll(worlds);
  });
});

async function assertHarmless(
  name: string,
  { inputs, send }: Surface<unknown>,
  numRuns: number,
  withWorlds: (work: (worlds: readonly World[]) => Promise<void>) => Promise<void>,
): Promise<void> {
  const check = (input: unknown): Promise<void> =>
    withWorlds(async (worlds) => {
      const answers: unknown[] = [];
      for (const world of worlds) {
        ids.made = 0;
        answers.push(await watchdog.watch(`${name}: ${inspect(input, { depth: 20 })}`, () => send(input, world)));
      }
      for (const answer of answers.slice(1)) expect(answer).toEqual(answers[0]);
      expect(prototypes()).toEqual(PROTOTYPES);
      await new Promise(setImmediate);
      expect(lost.splice(0)).toEqual([]);
    });
  // The first one loads definitions.
  await withWorlds(async (worlds) => {
    for (const world of worlds) await send(fc.sample(inputs, 1)[0], world);
  });
  for (const input of REGRESSIONS[name] ?? []) await check(input);
  await fc.assert(
    fc.asyncProperty(inputs, (input) => {
      tally.addFaults();
      return tally.trial(() => check(input));
    }),
    { numRuns },
  );
}

function openWorlds(): Promise<World[]> {
  return Promise.all(Object.values(STORES).map((open) => openWorld(open(), RESOURCES)));
}

async function closeAll(worlds: readonly World[]): Promise<void> {
  for (const { store } of worlds) await store.close();
}

/** The names that everything inherits. */
function prototypes(): unknown {
  return [Object, Array, String, Function, Map, Promise].map(({ prototype }) => Reflect.ownKeys(prototype));
}
