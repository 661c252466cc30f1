import { expect, test } from 'vitest';
import { MemoryStore } from '../../../src/index.js';
import { R4 } from '../../../src/store.js';
import { validateResource } from '../../../src/fhir/validate-resource.js';
import { assertResource } from '../../../src/interactions/write-request.js';
import { openClinic } from './harness.js';

const clinic = await openClinic(new MemoryStore());

test('variables are refused before they are read, by characters and values', async () => {
  const refused = async (variables: object): Promise<string | undefined> => {
    const { errors } = await clinic.ask('{ PatientList { id } }', { variables }, { limits: { variablesSize: 10_000 } });
    return errors?.[0]?.message;
  };
  expect(await refused({ many: Array<number>(97).fill(0) })).toBeUndefined();
  expect(await refused({ many: Array<number>(98).fill(0) })).toContain('more than 10000 characters');
  expect(await refused({ text: 'x'.repeat(10_000) })).toContain('more than 10000');
  expect(await refused({ ['x'.repeat(10_000)]: 1 })).toContain('more than 10000');
});

test('a variable holds the largest resource of a store', async () => {
  const CREATE = 'mutation ($res: PatientInput!) { PatientCreate(res: $res) { name { family } } }';
  const res = (names: number): object => ({ name: Array.from({ length: names }, (_, n) => ({ family: `F${n}` })) });
  const { data } = (await clinic.ask(CREATE, { res: res(9_900) })) as { data: { PatientCreate: { name: object[] } } };
  expect(data.PatientCreate.name).toHaveLength(9_900);
  const { errors } = await clinic.ask(CREATE, { res: res(10_000) });
  expect(errors).toMatchObject([
    { path: ['PatientCreate'], message: /more than 20000 values/, extensions: { code: 'too-costly' } },
  ]);
});

test('a request has at most 10,000 variables, and an object of a resource at most as many names', async () => {
  const many = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, n) => [`u${n}`, 1]));
  const ask = async (count: number): Promise<unknown> => {
    const { errors } = await clinic.ask('{ PatientList { id } }', { ...many(count) });
    return errors?.[0]?.extensions.details;
  };
  expect(await ask(10_000)).toBeUndefined();
  expect(await ask(10_001)).toMatchObject({ limit: 'variablesSize', max: 10_000 });
  const issues = (count: number): unknown =>
    validateResource(R4, { resourceType: 'Basic', extension: [many(count)] }).filter(
      ({ code }) => code === 'too-costly',
    );
  expect(issues(10_000)).toEqual([]);
  expect(issues(10_001)).toMatchObject([{ expression: ['Basic.extension[0]'] }]);
  // With its type it has one more.
  expect(() => assertResource(R4, { resourceType: 'Basic', ...many(9_999) })).not.toThrow();
  expect(() => assertResource(R4, { resourceType: 'Basic', ...many(10_000) })).toThrow('more than 10000 elements');
});
