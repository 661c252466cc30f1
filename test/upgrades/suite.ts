import { beforeAll, describe, expect, test } from 'vitest';
import type { ResourceStore } from 'fhirgraph';
import { useRealScrypt } from '../support/cheap-scrypt.js';
import type { Fixture } from './fixtures.js';
import { type OldClinic, QUESTIONS, SEARCHES, searchAsSystem } from './questions.js';

/** The calls of a SQL store that an upgrade uses. */
export interface MigratedStore extends ResourceStore {
  verify(): Promise<{ readonly resources: number; readonly problems: readonly string[] }>;
}

/** Opens the database of each version, as an upgrade does, and makes every call. */
export function upgradeSuite<Content>(
  fixtures: readonly Fixture<Content>[],
  open: (content: Content) => Promise<MigratedStore> | MigratedStore,
): void {
  // Other processes created the hashes of the fixtures.
  beforeAll(useRealScrypt);

  describe.each(fixtures)('a database that version $version wrote', ({ content, facts }) => {
    let store: MigratedStore;
    let clinic: OldClinic;
    beforeAll(async () => {
      store = await open(content);
      clinic = { store, facts };
      return () => store.close();
    });

    const assertSound = async (): Promise<void> => {
      const { resources, problems } = await store.verify();
      expect([resources > 40, problems]).toEqual([true, []]);
    };

    test('is sound', assertSound);

    test('every kind of index finds its resources', async () => {
      const found = [];
      for (const [search] of SEARCHES) found.push([search, await searchAsSystem(clinic, search)]);
      expect(found).toEqual(SEARCHES);
    });

    test.each(QUESTIONS)('answers: $question', async ({ ask, answer }) => {
      expect(await ask(clinic)).toEqual(answer);
    });

    test('is sound after further writes', assertSound);
  });
}
