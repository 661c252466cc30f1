import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AnyResource, MemoryStore, type ResourceStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { sparingStore } from '../support/sparing-store.js';
import { allAnswers, writeAnswers } from './all-answers.js';
import { Oracle, type Interaction } from './oracle.js';
import { enrol, member, type MemberSetup } from './policies.js';
import { QUESTIONS } from './questions.js';
import { ALL_KEYS, fill, plain, projectContent, snapshot, type Json } from './world.js';
import { cases, IS_LONG, IS_WHOLE, SEED, someOf } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';

const tally = tallyOf('Non-interference of invisible data');

/** Cases per store. */
const CASES = IS_LONG ? 30 : IS_WHOLE ? 10 : 4;

/** Both stores of a comparison have the same time. */
const clock = (): Date => new Date('2026-01-01T00:00:00Z');
const questions = fc.subarray([...QUESTIONS], { minLength: 4, maxLength: 10 });
const setup = fc.oneof(member({ writes: false }), member({ writes: true }));

/** The stores, each with cases of its own. */
const STORES: readonly (readonly [name: string, seed: number, open: () => ResourceStore])[] = [
  ['SQLite', SEED + 1, () => new SqliteStore(':memory:', { clock })],
  ['memory', SEED, () => sparingStore(new MemoryStore({ clock }))],
];

describe.each(someOf(STORES, 1))('on a %s store', (_, seed, open) => {
  const closing = async (stores: readonly ResourceStore[], work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  };

  test('invisible resources do not influence any answer', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(setup, projectContent, questions, (setup, content, asked) =>
        tally.trial(async () => {
          const unseen = unseenBy(setup, content);
          if (unseen === undefined) return;
          compared += 1;
          const [whole, without] = [open(), open()];
          await closing([whole, without], async () => {
            await fill(whole, 'alpha', content);
            await fill(without, 'alpha', content.filter((one) => one !== unseen)); // prettier-ignore
            const [there, gone] = [await enrol(whole, 'alpha', setup), await enrol(without, 'alpha', setup)];
            expect(await allAnswers(whole, there, asked)).toEqual(await allAnswers(without, gone, asked));
            const stored = await snapshot(whole, 'alpha');
            const written = await writeAnswers(whole, there, unseen, asked);
            expect(written).toEqual(await writeAnswers(without, gone, unseen, asked));
            expect(await snapshot(whole, 'alpha')).toBe(stored);
          });
        }),
      ),
      { numRuns: cases(CASES), seed },
    );
    expect(compared).toBeGreaterThan(CASES / 4);
  });

  test('the resources of other projects do not influence any answer', async () => {
    await fc.assert(
      fc.asyncProperty(setup, projectContent, projectContent, questions, (setup, content, other, asked) =>
        tally.trial(async () => {
          const [beside, alone] = [open(), open()];
          await closing([beside, alone], async () => {
            await fill(beside, 'beta', other.map(marked));
            await enrol(beside, 'beta', { ...setup, profile: 'Practitioner/dr1' });
            await fill(beside, 'alpha', content);
            await fill(alone, 'alpha', content);
            const [one, same] = [await enrol(beside, 'alpha', setup), await enrol(alone, 'alpha', setup)];
            const elsewhere = await snapshot(beside, 'beta');
            const answers = await allAnswers(beside, one, asked);
            expect(answers).toEqual(await allAnswers(alone, same, asked));
            for (const { type, id } of ALL_KEYS.slice(0, 4)) {
              const target = marked({ resourceType: type, id });
              const written = await writeAnswers(beside, one, target, asked);
              expect(written).toEqual(await writeAnswers(alone, same, target, asked));
            }
            expect(JSON.stringify(answers)).not.toContain(MARK);
            expect(await snapshot(beside, 'beta')).toBe(elsewhere);
          });
        }),
      ),
      { numRuns: cases(CASES), seed },
    );
  });
});

const INTERACTIONS: readonly Interaction[] = ['read', 'vread', 'search', 'history', 'update', 'delete'];

/** A resource that no rule grants and that no rule depends on. */
function unseenBy(setup: MemberSetup, content: readonly AnyResource[]): AnyResource | undefined {
  const whole = new Oracle(content, setup);
  const grants = (oracle: Oracle, resource: AnyResource): string =>
    JSON.stringify(INTERACTIONS.map((one) => oracle.granting(one, resource)));
  return content.find((candidate) => {
    if (NEEDED.has(`${candidate.resourceType}/${candidate.id!}`)) return false;
    if (INTERACTIONS.some((one) => whole.granting(one, candidate).length > 0)) return false;
    const others = content.filter((one) => one !== candidate);
    const without = new Oracle(others, setup);
    return others.every((one) => grants(whole, one) === grants(without, one));
  });
}

/** Nobody signs in without its profile. */
const NEEDED: ReadonlySet<string> = new Set(['Patient/p1', 'Practitioner/dr1', 'RelatedPerson/rp1']);

const MARK = 'Elsewhere';

/** A resource with a text in it that must not come out. */
function marked(resource: AnyResource): AnyResource {
  const elements = resource as unknown as Json;
  return plain({
    ...elements,
    text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${MARK}</div>` },
  });
}
