import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  createRepository,
  eraseResource,
  exportProject,
  type FhirError,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { allAnswers } from './all-answers.js';
import { enrol, member } from './policies.js';
import { QUESTIONS, type Question } from './questions.js';
import { fill, plain, projectContent, SAMPLE_TYPES, type Json } from './world.js';
import { cases, IS_LONG, IS_WHOLE, SEED } from '../support/chance.js';

const CASES = IS_LONG ? 30 : IS_WHOLE ? 6 : 3;
const clock = (): Date => new Date('2026-01-01T00:00:00Z');
const questions = fc.subarray([...QUESTIONS], { minLength: 4, maxLength: 10 });
const setup = fc.oneof(member({ writes: false }), member({ writes: true }));

/** A word that only erased versions say. */
const MARK = 'Zyzzyva';

describe.each([
  ['memory', SEED, () => new MemoryStore({ clock })],
  ['SQLite', SEED + 1, () => new SqliteStore(':memory:', { clock })],
] as const)('on a %s store', (_, seed, open) => {
  test('an erased resource cannot be reached by any caller on any path, and everything else is unchanged', async () => {
    let compared = 0;
    const property = fc.asyncProperty(
      setup,
      projectContent,
      questions,
      fc.nat(),
      fc.boolean(),
      async (setup, content, asked, choice, isDeleted) => {
        const erasable = content.filter((one) => !NEEDED.has(`${one.resourceType}/${one.id!}`));
        const target = erasable[choice % erasable.length];
        if (target === undefined) return;
        compared += 1;
        const others = content.filter((one) => one !== target);
        const shell = { resourceType: target.resourceType, id: target.id! };
        const stores = [open(), open(), open()] as const;
        try {
          const [whole, empty, without] = stores;
          // The same project twice: the erased resource has content in one of them, and none in the other.
          await fill(whole, 'alpha', content);
          await fill(empty, 'alpha', others);
          await fill(without, 'alpha', others);
          await write(empty, [shell]);
          for (const [store, versions] of [
            [whole, [marked(target), marked(shell)]],
            [empty, [shell, shell]],
          ] as const) {
            await write(store, versions);
            if (isDeleted)
              await createRepository({ store, caller: systemCaller('alpha') }).delete(
                target.resourceType as never,
                target.id!,
              );
          }
          const callers = await Promise.all(stores.map((store) => enrol(store, 'alpha', setup)));
          for (const store of [whole, empty]) {
            const context = { store, caller: systemCaller('alpha'), reason: 'patient-request' as const };
            await eraseResource(target.resourceType as never, target.id!, context);
          }
          const answers = await allAnswers(whole, callers[0]!, asked);
          expect(answers).toEqual(await allAnswers(empty, callers[1]!, asked));
          const trusted = await everything(whole);
          expect(trusted).toEqual(await everything(empty));
          expect(JSON.stringify([answers, trusted])).not.toContain(MARK);
          // Searches, counts, chains and includes do not know that it was ever there.
          expect(await searched(whole, asked)).toEqual(await searched(without, asked));
        } finally {
          await Promise.all(stores.map((store) => store.close()));
        }
      },
    );
    await fc.assert(property, { numRuns: cases(CASES), seed });
    expect(compared).toBeGreaterThan(CASES / 2);
  });
});

/** Nobody signs in without its profile. */
const NEEDED: ReadonlySet<string> = new Set(['Patient/p1', 'Practitioner/dr1', 'RelatedPerson/rp1']);

async function write(store: ResourceStore, resources: readonly AnyResource[]): Promise<void> {
  for (const resource of resources) {
    const key = { project: 'alpha', type: resource.resourceType, id: resource.id! };
    await store.commit([{ kind: 'put', key, resource }]);
  }
}

function marked(resource: AnyResource): AnyResource {
  const div = `<div xmlns="http://www.w3.org/1999/xhtml">${MARK}</div>`;
  return plain({ ...(resource as unknown as Json), text: { status: 'generated', div } });
}

/** The results for trusted code: the history of all types, and an export with history. */
async function everything(store: ResourceStore): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const type of SAMPLE_TYPES) found.push(await store.typeHistory!({ project: 'alpha', type, limit: 1_000 }));
  const lines = exportProject('alpha', { store, caller: serverCaller(), history: true });
  for await (const line of lines) found.push(line);
  return found.map((one) => JSON.stringify(one).replaceAll(/"timestamp":"[^"]*"/g, '')).toSorted();
}

async function searched(store: ResourceStore, asked: readonly Question[]): Promise<readonly unknown[]> {
  const repository = createRepository({ store, caller: systemCaller('alpha') });
  return Promise.all(
    asked.map(({ type, rest }) =>
      repository
        .search(type, `${rest}&_total=accurate&${INCLUDES[type] ?? ''}`)
        .catch((error: unknown) => (error as FhirError).code),
    ),
  );
}

const INCLUDES: { readonly [type: string]: string } = {
  Patient: '_include=Patient:organization&_revinclude=Observation:subject&_revinclude=Encounter:subject',
  Observation: '_include=Observation:subject&_include=Observation:encounter&_revinclude=Observation:has-member',
  Encounter: '_include=Encounter:subject&_revinclude=Observation:encounter',
};
