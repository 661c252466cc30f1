import { expect, test } from 'vitest';
import type { FhirError } from '../../../src/index.js';
import { PostgresStore } from '../../../src/postgres.js';
import type { ResourceKey, Write, WriteResult } from '../../../src/store.js';
import { below, createRandom, keyOf, oneOf, put, resourceOf } from '../../support/kit.js';
import { cases, SEED } from '../../support/chance.js';
import { noting, postgresPool } from './pool.js';

/** A store, and the statements that it has sent. */
async function newStore() {
  const sent: string[] = [];
  const store = new PostgresStore(noting(await postgresPool(), sent));
  await store.accessEpoch();
  sent.length = 0;
  return { store, sent };
}

const create = (id: string): Write => ({ ...put(resourceOf('Patient', id)), expect: { version: null } });

test('a create is one statement, and ten at a time are three', async () => {
  const { store, sent } = await newStore();
  await store.commit([create('first')]);
  expect(sent).toHaveLength(1);
  sent.length = 0;
  const ids = Array.from({ length: 10 }, (_, number) => `p${number}`);
  const results = await Promise.all(ids.map((id) => store.commit([create(id)])));
  expect(sent).toHaveLength(3);
  expect(results.map(([result]) => (result as { resource: { id: string } }).resource.id)).toEqual(ids);
});

test('a create with an id in use is refused, and deleted ids can be used again', async () => {
  const { store } = await newStore();
  await store.commit([create('a'), create('b')]);
  await store.commit([{ kind: 'delete', key: keyOf('Patient', 'b') }]);
  await expect(store.commit([create('a')])).rejects.toMatchObject({ code: 'precondition-failed' });
  expect(await store.commit([create('b')])).toMatchObject([{ created: true, versionId: '3' }]);
});

test('concurrent reads share a statement', async () => {
  const { store, sent } = await newStore();
  const ids = Array.from({ length: 10 }, (_, number) => `p${number}`);
  await store.commit(ids.map((id) => put(resourceOf('Patient', id))));
  sent.length = 0;
  const keys = [...ids.map((id) => keyOf('Patient', id)), keyOf('Patient', 'nobody'), keyOf('Patient', 'p1', 'other')];
  const found = await Promise.all(keys.map((key) => store.read([key])));
  const idOf = ([one]: (typeof found)[number]): unknown => (one!.status === 'found' ? one!.resource.id : one!.status);
  expect(found.map(idOf)).toEqual([...ids, 'missing', 'missing']);
  // Two on their own, then the group of each project.
  expect(sent).toHaveLength(4);
});

/** Random commits over few resources, many of which fail. */
function randomCommit(random: () => number): readonly Write[] {
  return Array.from({ length: 1 + below(2, random) }, (): Write => {
    const key: ResourceKey = keyOf('Patient', `r${below(6, random)}`, oneOf(['clinic', 'other'], random));
    const expected = random() < 0.6 ? { expect: { version: oneOf([null, '1', '2'], random) } } : {};
    if (random() < 0.2) return { kind: 'delete', key, ...expected };
    return { kind: 'put', key, resource: resourceOf('Patient', key.id), ...expected };
  });
}

test(`concurrent commits leave the state of some order of them (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const { store } = await newStore();
  /** The number of versions of each resource. */
  const written = new Map<string, number>();
  let failed = 0;
  for (let round = 0; round < cases(60, 12); round += 1) {
    const group = Array.from({ length: 1 + below(8, random) }, () => randomCommit(random));
    const outcomes = await Promise.allSettled(group.map((writes) => store.commit(writes)));
    const versions = new Map<string, string[]>();
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'rejected') {
        failed += 1;
        expect((outcome.reason as FhirError).code).toBe('precondition-failed');
        continue;
      }
      outcome.value.forEach((result: WriteResult, position) => {
        const write = group[index]![position] as { readonly key: ResourceKey };
        const versionId = 'versionId' in result ? result.versionId : null;
        if (versionId === null) return;
        const name = JSON.stringify(write.key);
        versions.set(name, [...(versions.get(name) ?? []), versionId]);
      });
    }
    // Each version was given to one write, without gaps.
    for (const [name, given] of versions) {
      const before = written.get(name) ?? 0;
      const expected = given.map((_, number) => String(before + number + 1));
      expect(
        given.toSorted((a, b) => Number(a) - Number(b)),
        `round ${round}, ${name}`,
      ).toEqual(expected);
      written.set(name, before + given.length);
    }
  }
  expect(failed).toBeGreaterThan(10);
  expect((await store.verify()).problems).toEqual([]);
});
