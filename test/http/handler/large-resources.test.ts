import type { Bundle } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { executeFhirGraphql, importNdjson, MemoryStore, systemCaller } from '../../../src/index.js';
import { type Answer, openService, outcomeText } from './open-service.js';

/** A Patient with two values for each name. */
const named = (names: number, more: object = {}): object => ({
  resourceType: 'Patient',
  ...more,
  name: Array.from({ length: names }, (_, n) => ({ family: `F${n}` })),
});

const codeOf = ({ body }: Answer): unknown => (body as { issue: [{ code: string }] }).issue[0].code;

describe('a resource with too many values', () => {
  const MAX = 400;
  const open = () => openService({ store: new MemoryStore({ maxResourceValues: MAX }), graphqlOverHttp: undefined });
  const entry = (resource: object): object => ({ resource, request: { method: 'POST', url: 'Patient' } });
  const bundle = (type: string, ...resources: object[]): object => ({
    resourceType: 'Bundle',
    type,
    entry: resources.map(entry),
  });

  test('is refused at each door of a service, with its place, and nothing is written', async () => {
    const service = await open();
    const { id } = (await service.call('POST', 'Patient', { body: named(150) })).body as { id: string };
    const large = named(300);
    const patch = [{ op: 'replace', path: '/name', value: (large as { name: unknown }).name }];
    const headers = { 'content-type': 'application/json-patch+json' };
    const refused: readonly (readonly [string, Answer])[] = [
      ['The body has more than 400 values', await service.call('POST', 'Patient', { body: large })],
      ['The body has', await service.call('PUT', `Patient/${id}`, { body: { ...large, id } })],
      ['The body has', await service.call('PATCH', `Patient/${id}`, { body: patch, headers })],
      ['The body has', await service.call('POST', 'Patient/$validate', { body: large })],
      ['The body has', await service.call('POST', 'Bundle', { body: bundle('collection', named(110), named(110)) })],
      ['Bundle.entry[1] has', await service.call('POST', '', { body: bundle('transaction', named(1), large) })],
      ['Bundle.entry[1] has', await service.call('POST', '', { body: bundle('batch', named(1), large) })],
    ];
    for (const [message, answer] of refused) {
      expect([answer.status, codeOf(answer)]).toEqual([422, 'too-costly']);
      expect(outcomeText(answer)).toContain(message);
    }
    const { body } = await service.call('GET', 'Patient');
    expect((body as Bundle).entry).toHaveLength(1);
    // Bundles are bounded by their entries.
    const many = Array.from({ length: 20 }, () => named(150));
    expect((await service.call('POST', '', { body: bundle('transaction', ...many) })).status).toBe(200);
  });

  test('is refused where its text is short, and its values are many only once it is parsed', async () => {
    const service = await open();
    const text = named(1, { text: { status: 'generated', div: `<div>${'word '.repeat(10_000)}</div>` } });
    const answers = [
      await service.call('POST', 'Patient', { body: text }),
      await service.call('POST', '', { body: bundle('transaction', named(1), text) }),
    ];
    expect(answers.map((one) => [one.status, codeOf(one)])).toEqual(Array(2).fill([422, 'too-costly']));
    expect(outcomeText(answers[1]!)).toContain(
      'Entry 1: The resource cannot be stored: the resource has more than 400',
    );
  });

  test('is a bad line of an import, and a failed field of a mutation', async () => {
    const { store, project } = await open();
    const context = { store, caller: systemCaller(project) };
    const lines = [named(1), named(300), named(2)].map((one) => JSON.stringify(one)).join('\n');
    const { imported, errors } = await importNdjson(lines, context);
    expect([imported, errors]).toMatchObject([
      2,
      [{ line: 2, reason: { code: 'too-costly', message: /^The line has/ } }],
    ]);
    const CREATE = 'mutation ($res: PatientInput!) { PatientCreate(res: $res) { id } }';
    const result = await executeFhirGraphql(CREATE, { ...context, variables: { res: named(300) } });
    expect(result.errors).toMatchObject([
      { path: ['PatientCreate'], message: /more than 400 values/, extensions: { code: 'too-costly' } },
    ]);
  });
});

const MIB = 1024 * 1024;

test.each<[string, string, number]>([
  ['deep nesting', '[{"a":'.repeat(2 * MIB), 422],
  [
    'an object that nests deep',
    '{"resourceType":"Patient","a":' + '{"a":'.repeat(3_000) + '1' + '}'.repeat(3_001),
    400,
  ],
  ['a million empty lists', `{"resourceType":"Patient","a":[${'[],'.repeat(1_000_000)}[]]}`, 422],
  ['one open text', `{"resourceType":"Patient","a":"${'\\"'.repeat(7 * MIB)}`, 400],
  ['many short texts', `{"resourceType":"Patient","name":[{"given":[${'"Ann",'.repeat(MIB)}"Bea"]}]}`, 422],
  [
    'many texts that take long to index',
    JSON.stringify(named(150, { address: [{ text: 'ſﬁÉ'.repeat(5 * 65_536) }] })),
    201,
  ],
  ['white space', `{"resourceType":"Patient",${' '.repeat(15 * MIB)}"active":true}`, 201],
])('a body of %s is answered', async (_, body, status) => {
  const service = await openService();
  expect((await service.call('POST', 'Patient', { body })).status).toBe(status);
});
