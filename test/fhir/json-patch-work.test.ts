import { describe, expect, test } from 'vitest';
import { applyJsonPatch } from '../../src/fhir/json-patch.js';
import { codeOf, system } from '../repository/harness.js';
import { type AnyResource, type JsonPatchOperation, MemoryStore } from '../../src/index.js';

const SIZE = 5_000;
const LONG: AnyResource = {
  resourceType: 'List',
  id: 'l',
  status: 'current',
  mode: 'working',
  entry: Array.from({ length: SIZE }, (_, n) => ({ item: { display: `item ${n}` } })),
} as AnyResource;

const times = (count: number, ...operations: readonly JsonPatchOperation[]): readonly JsonPatchOperation[] =>
  Array.from({ length: count / operations.length }, () => operations).flat();

const HOSTILE: readonly (readonly [string, readonly JsonPatchOperation[]])[] = [
  [
    'moves of a long list',
    times(1_000, { op: 'move', from: '/entry', path: '/note' }, { op: 'move', from: '/note', path: '/entry' }),
  ],
  ['tests of a long list', times(20, { op: 'test', path: '/entry', value: (LONG as { entry?: unknown }).entry })],
  [
    'replacements by a long list',
    times(40, { op: 'replace', path: '/entry', value: (LONG as { entry?: unknown }).entry }),
  ],
  ['tests of a long text', times(20, { op: 'test', path: '/title', value: 'x'.repeat(1_000_000) })],
];

describe('the work of a patch is bounded', () => {
  test.each(HOSTILE)('for %s', (_, operations) => {
    const resource = { ...LONG, title: 'x'.repeat(1_000_000) } as AnyResource;
    expect(() => applyJsonPatch(resource, operations)).toThrow(
      expect.objectContaining({
        code: 'too-costly',
        message: expect.stringMatching(
          /^The first \d+ operations of the patch touch more than 100000 values; send an update instead$/,
        ) as string,
        details: { max: 100_000 },
      }) as Error,
    );
  });

  test('of a repository, too, and nothing is written', async () => {
    const repository = await system(new MemoryStore());
    await repository.update(LONG as never);
    expect(await codeOf(repository.patch('List', 'l', HOSTILE[0]![1]))).toBe('too-costly');
    expect((await repository.read('List', 'l')).meta?.versionId).toBe('1');
  });

  test('and a thousand small operations on a long list are within it', () => {
    const last = SIZE - 1;
    const operations = times(1_000, { op: 'move', from: '/entry/0', path: `/entry/${last}` });
    const patched = applyJsonPatch(LONG, operations);
    const { entry } = patched as unknown as { entry: readonly { item: { display: string } }[] };
    expect([entry.length, entry[0]!.item.display, entry[last]!.item.display]).toEqual([SIZE, 'item 1000', 'item 999']);
  });

  test('while one operation may replace a whole list', () => {
    const entry = Array.from({ length: 100_000 }, () => ({ flag: {} }));
    const patched = applyJsonPatch(LONG, [{ op: 'replace', path: '/entry', value: entry }]);
    expect((patched as unknown as { entry: readonly unknown[] }).entry).toHaveLength(100_000);
  });
});
