import { isDeepStrictEqual } from 'node:util';
import { MemoryStore, type ResourceStore } from 'fhirgraph';
import { Asker } from './ask-random.js';
import type { RandomQuestion } from './questions.js';
import { PROJECT, randomDataOf } from './random-contents.js';
import type { RandomSource } from './random-data.js';
import { randomMembers } from './random-members.js';

/** A question that a store answers differently from one that tests and sorts all resources. */
export interface Difference {
  readonly text: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Compares the answers of a store of random data with those of a search that reads everything. */
export async function checkRandom(
  store: ResourceStore,
  source: RandomSource,
  size: number,
  questions: readonly RandomQuestion[],
  runs: number,
): Promise<readonly Difference[]> {
  const memory = await copyOf(store, source, size);
  const [reference, asker] = [new Asker(memory), new Asker(store)];
  const differences: Difference[] = [];
  for (const question of questions) {
    for (let run = 0; run < runs; run++) {
      const [expected, actual] = [await reference.answer(question, run), await asker.answer(question, run)];
      // Each store has cursors of its own.
      if (isDeepStrictEqual(withoutCursors(expected), withoutCursors(actual))) continue;
      differences.push({ text: `${question.text(run)} by ${question.member ?? 'all'}`, expected, actual });
    }
  }
  await memory.close();
  return differences;
}

/** The same resources with the same instants of change. */
async function copyOf(store: ResourceStore, source: RandomSource, size: number): Promise<MemoryStore> {
  const data = randomDataOf(source, size);
  let now = new Date();
  const memory = new MemoryStore({ clock: () => now });
  // Conditions of policies can contain the instant of their creation.
  const keys = randomMembers(PROJECT, data, source.seed).flatMap((write) => (write.kind === 'put' ? [write.key] : []));
  for (const [index, found] of (await store.read(keys)).entries()) {
    if (found.status === 'found') await memory.commit([{ kind: 'put', key: keys[index]!, resource: found.resource }]);
  }
  for (const { type } of data.types) {
    const { matches } = await store.search({ project: PROJECT, type, criteria: { kind: 'all' } });
    for (const { lastUpdated, resource } of matches) {
      now = new Date(lastUpdated);
      await memory.commit([{ kind: 'put', key: { project: PROJECT, type, id: resource.id! }, resource }]);
    }
  }
  return memory;
}

function withoutCursors(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value: unknown) => (name === 'next' ? undefined : value)));
}
