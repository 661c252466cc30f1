import type { Bundle } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import { createRepository, importBundle, type ImportContext, systemCaller } from '../../src/index.js';
import { ask, batch, contents, faultOf, memoryContext, PROJECT, put, transaction } from './harness.js';

const context: ImportContext = memoryContext();
const page = ask('GET', 'Patient?_count=1000');
const pages = (count: number): (typeof page)[] => Array.from({ length: count }, () => page);

beforeAll(async () => {
  const patients = Array.from({ length: 1_000 }, (_, n) => put({ resourceType: 'Patient', id: `p${n}` }));
  await importBundle(batch(...patients), context);
});

const ways: readonly (readonly [string, (bundle: object) => Promise<Bundle>])[] = [
  ['importBundle', async (bundle) => (await importBundle(bundle, context)).bundle],
  [
    'a repository',
    (bundle) => createRepository({ ...context, caller: systemCaller(PROJECT) }).transaction(bundle as Bundle),
  ],
];

describe.each(ways)('the GET entries of a Bundle, by %s', (way, answer) => {
  test('bring 10,000 resources together, and the entries of a batch after them fail', async () => {
    const { entry } = await answer(
      batch(...pages(9), ask('GET', 'Patient?_count=999'), ask('GET', 'Patient/p1'), page),
    );
    expect(entry!.map(({ response }) => response!.status)).toEqual([
      ...Array.from({ length: 11 }, () => '200 OK'),
      '422 Unprocessable Entity',
    ]);
    expect(entry!.at(-1)!.response!.outcome).toMatchObject({ issue: [{ code: 'too-costly' }] });
  });

  test('undo a transaction if they would bring more', async () => {
    const id = way.replace(' ', '-');
    const written = put({ resourceType: 'Basic', id });
    expect(await faultOf(answer(transaction(written, ...pages(11))))).toMatchObject({
      code: 'too-costly',
      details: { max: 10_000, entries: [11] },
    });
    expect(Object.keys(await contents(context.store))).not.toContain(`Basic/${id}`);
    const { entry } = await answer(transaction(written, ...pages(10)));
    expect(entry).toHaveLength(11);
  });

  test.each([
    ['counts', 'Patient?_summary=count'],
    ['searches that find nothing', 'Patient?_id=nobody'],
    ['searches that fail', 'Patient?nothing=1'],
    ['histories', 'Patient/p1/_history?_count=1'],
  ])('are at most 1,000 %s: an entry is work, whatever it brings', async (_, query) => {
    const { entry } = await answer(batch(...Array.from({ length: 1_001 }, () => ask('GET', query))));
    const refused = entry!.map(({ response }) => JSON.stringify(response!.outcome ?? {}).includes('too-costly'));
    expect([refused.indexOf(true), refused.length]).toEqual([1_000, 1_001]);
  });
});
