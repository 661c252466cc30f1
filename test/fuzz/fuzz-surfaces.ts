import fc from 'fast-check';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ResourceStore } from '../../src/index.js';
import type { Tally } from '../support/long-report.js';
import * as reading from './reading-surfaces.js';
import { REGRESSIONS } from './regressions.js';
import { RESOURCES } from './seeds.js';
import type { Surface } from './surface.js';
import { openWatchdog, type Watchdog } from './watchdog.js';
import { openWorld, type World } from './world.js';
import * as writing from './writing-surfaces.js';

const READING = Object.entries(reading) as [string, Surface<unknown>][];
const WRITING = Object.entries(writing) as [string, Surface<unknown>][];
export const SURFACES: readonly string[] = [...READING, ...WRITING].map(([name]) => name);

interface Fuzzing {
  /** Creates new empty stores, which must give the same answers. */
  readonly open: () => Promise<readonly ResourceStore[]>;
  /** Numbers of inputs through each entrance that only reads, and through each that writes. */
  readonly inputs: { readonly reading: number; readonly writing: number };
  /** Called before the same input goes to another store. */
  readonly again: () => void;
  readonly tally: Tally;
}

/** One test per entrance: no crash, no hang, no internal error, no changed prototype, the same answer on every store. */
export function fuzzSurfaces({ open, inputs, again, tally }: Fuzzing): void {
  const prototypes = prototypesNow();
  let watchdog: Watchdog;
  let shared: readonly World[];
  /** Rejections that nothing awaits. Vitest would report the file and not the input. */
  const lost: unknown[] = [];
  const onLost = (reason: unknown): void => void lost.push(reason);

  beforeAll(() => {
    watchdog = openWatchdog();
    process.on('unhandledRejection', onLost);
  });

  afterAll(async () => {
    process.off('unhandledRejection', onLost);
    await watchdog.close();
  });

  test.each(READING)('%s: no input does harm, and all stores give the same answers', async (name, surface) => {
    shared = await openWorlds();
    await assertHarmless(name, surface, inputs.reading, (work) => work(shared));
    await closeAll(shared);
  });

  test.each(WRITING)('%s: no input does harm, and all stores give the same answers', async (name, surface) => {
    await assertHarmless(name, surface, inputs.writing, async (work) => {
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
          again();
          answers.push(await watchdog.watch(`${name}: ${inspect(input, { depth: 20 })}`, () => send(input, world)));
        }
        for (const answer of answers.slice(1)) expect(answer).toEqual(answers[0]);
        expect(prototypesNow()).toEqual(prototypes);
        await new Promise(setImmediate);
        expect(lost.splice(0)).toEqual([]);
      });
    // The first call loads definitions.
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

  async function openWorlds(): Promise<readonly World[]> {
    const worlds: World[] = [];
    for (const store of await open()) worlds.push(await openWorld(store, RESOURCES));
    return worlds;
  }
}

async function closeAll(worlds: readonly World[]): Promise<void> {
  for (const { store } of worlds) await store.close();
}

/** The inherited names, except those that the fhirpath library adds to strings when it is loaded. */
function prototypesNow(): unknown {
  const names = [Object, Array, String, Function, Map, Promise].map(({ prototype }) => Reflect.ownKeys(prototype));
  return names.map((all) => all.filter((name) => name !== 'seed' && name !== 'hashCode'));
}
