import { afterEach, expect, test } from 'vitest';
import { LONG_TEXT, type PendingVersion, upsert } from '../../../src/stores/postgres/commit/pending-version.js';
import { MemoryStore } from '../../../src/index.js';
import type { Write } from '../../../src/store.js';
import { below, createRandom, keyOf, oneOf, put, resourceOf } from '../../support/kit.js';
import { cases, SEED } from '../../support/chance.js';
import { postgresStore } from './store.js';

const { units } = LONG_TEXT;
afterEach(() => void (LONG_TEXT.units = units));

const TEXTS = ['"quoted"', 'back\\slash\\', "it's", '{a,b}', 'NULL', 'ä€😀', 'line\nline', ''];

test(`versions with long texts equal those of a memory store (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const store = await postgresStore();
  const reference = new MemoryStore();
  const keys = Array.from({ length: 8 }, (_, id) => keyOf('Patient', `p${id}`));
  const write = ({ type, id }: (typeof keys)[number]): Write => {
    if (below(4, random) === 0) return { kind: 'delete', key: keyOf(type, id) };
    const text = oneOf(TEXTS, random).repeat(1 + below(60, random));
    return put({ ...resourceOf(type, id), ...{ name: [{ text }] } });
  };
  for (let turn = 0; turn < cases(40, 12); turn++) {
    // About half of the texts are long.
    LONG_TEXT.units = oneOf([1, 200, 400], random);
    const writes = keys.filter(() => below(2, random) === 0).map(write);
    await store.commit(writes);
    await reference.commit(writes);
    const [ours, theirs] = [await store.read(keys), await reference.read(keys)];
    expect(ours.map(contentOf)).toEqual(theirs.map(contentOf));
  }
});

function contentOf(result: object): unknown {
  const { lastUpdated: _, resource, ...more } = result as { lastUpdated?: string; resource?: { name?: unknown } };
  return { ...more, name: resource?.name };
}

test('a long text is sent as a parameter, and not within an array', () => {
  const version = (key: string, text: string | null): PendingVersion => ({
    ...{ key, type: 'Patient', id: key, version: 2, updated: 0, text, wasIndexed: false, erased: null },
  });
  const long = `"${'x'.repeat(units)}"`;
  const { values, text } = upsert('shard', [version('a', '"a"'), version('b', long), version('c', null)]);
  expect(values).toContain('{"\\"a\\"",NULL,NULL}');
  expect(values).toContain(long);
  expect(text).toContain('CASE u.key');
  expect(upsert('shard', [version('a', '"a"'), version('c', null)]).text).not.toContain('CASE u.key');
});
