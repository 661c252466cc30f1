import { expect, test } from 'vitest';
import { MemoryStore } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Write } from '../../../src/store.js';
import { below, createRandom, keyOf, oneOf, put, resourceOf } from '../../support/kit.js';
import { cases, SEED } from '../../support/chance.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();

test.each([0, 1])(
  'a commit that writes resources several times leaves the same versions as memory, with %i threads',
  async (readers) => {
    const random = createRandom(SEED);
    for (let round = 0; round < cases(8, 2); round++) {
      const clock = (): Date => new Date(1_700_000_000_000);
      const store = new SqliteStore(fileNamed(`one-${readers}-${round}.db`), { readers, clock });
      const twin = new MemoryStore({ clock });
      const ids = Array.from({ length: 30 }, (_, index) => `p${index}`);
      const erased = new Set<string>();
      const write = (): Write => {
        const id = oneOf(ids, random);
        const text = 'x'.repeat(below(random() < 0.05 ? 200_000 : 400, random));
        const kind = below(10, random);
        if (kind === 0) return { kind: 'delete', key: keyOf('Patient', id) };
        // An erased resource cannot be written again.
        if (kind < 4 && !erased.has(id)) {
          if (kind > 1) return put(resourceOf('Basic', `b${id}`, { implicitRules: text }));
          erased.add(id);
          return { kind: 'erase', key: keyOf('Basic', `b${id}`), reason: 'asked' };
        }
        return put(resourceOf('Patient', id, { gender: 'male', implicitRules: text }));
      };
      for (let commit = 0; commit < 3; commit++) {
        const writes = Array.from({ length: 1 + below(120, random) }, write);
        await store.commit(writes);
        await twin.commit(writes);
      }
      for (const id of ids) {
        for (const key of [keyOf('Patient', id), keyOf('Basic', `b${id}`)]) {
          const page = { offset: 0, limit: 200 };
          expect(await store.history(key, page), `seed ${SEED}`).toEqual(await twin.history(key, page));
        }
      }
      expect((await store.verify()).problems, `seed ${SEED}`).toEqual([]);
      await store.close();
      await twin.close();
    }
  },
);
