import type { ResourceStore } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { checkRandom } from '../../bench/scale/random/check-random.js';
import { type Form, randomQuestions } from '../../bench/scale/random/questions.js';
import { PROJECT, randomContents, randomDataOf } from '../../bench/scale/random/random-contents.js';
import { cases, SEED } from '../support/chance.js';

const SIZE = 1_000;
const data = randomDataOf({ seed: SEED }, SIZE);
const questions = randomQuestions(data, SEED, cases(400, 60));
const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-random-'));
let store: ResourceStore;

beforeAll(async () => {
  store = new SqliteStore(join(folder, 'random.db'));
  await randomContents({ seed: SEED }).fill(store, SIZE);
});

afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

test(`random questions have the same answers as a search that reads everything, seed ${SEED}`, async () => {
  expect(await checkRandom(store, { seed: SEED }, SIZE, questions, 2)).toEqual([]);
});

test('a different answer is found', async () => {
  const text = (run: number): string => `{ PatientList(_count: ${run + 1}, _sort: "-_id") { id } }`;
  const form: Form = 'one sort key';
  const question = { number: 0, form, about: 'nothing', target: 20, member: undefined, first: undefined, text };
  const answers: ResourceStore = Object.create(store, {
    read: { value: store.read.bind(store) },
    search: {
      value: async (...call: Parameters<ResourceStore['search']>) => {
        const page = await store.search(...call);
        return call[0].limit === 2 ? { ...page, matches: page.matches.slice(1) } : page;
      },
    },
  }) as ResourceStore;
  const differences = await checkRandom(answers, { seed: SEED }, SIZE, [question], 3);
  expect(differences.map((difference) => difference.text)).toEqual([`${text(1)} by all`]);
});

test('data and questions are the same for the same seed, and for any part of them', () => {
  const again = randomDataOf({ seed: SEED }, SIZE);
  expect([...again.lines(300, 400)]).toEqual([...data.lines()].slice(300, 400));
  // Some search for values that were written a moment ago.
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const [texts, first] = [again, data].map((one) => randomQuestions(one, SEED, 50).map(({ text }) => text(3)));
  expect(texts).toEqual(first);
});

test('the values that a question draws from a resource are the values of that resource', async () => {
  const type = data.types.find((one) => one.type === 'Patient')!;
  const family = type.fields.find(({ parameter }) => parameter === 'family')!;
  const lines = [...data.lines()].map((line) => JSON.parse(line) as { readonly id: string; readonly name?: unknown });
  for (let ordinal = 0; ordinal < type.count; ordinal++) {
    const { name } = lines.find(({ id }) => id === data.idOf('Patient', ordinal))!;
    const values = data.valuesOf(type, family, ordinal).map(({ fhir }) => ({ family: fhir }));
    expect(name ?? []).toEqual(values);
  }
});

test(`the data have another shape for another seed, in the project ${PROJECT}`, () => {
  const shapes = [1, 2, 3, 4].map((seed) =>
    randomDataOf({ seed }, SIZE)
      .types.map(({ type, count }) => `${type} ${count}`)
      .join(),
  );
  expect(new Set(shapes).size).toBe(4);
});

test('resources of sparse data have values of many different sets of parameters', () => {
  const numberOfSets = (sparse: boolean): number => {
    const source = randomDataOf({ seed: 3, sparse }, SIZE);
    const type = source.type('Observation')!;
    const hasValue = (ordinal: number): string =>
      type.fields.map((field) => (source.valuesOf(type, field, ordinal).length > 0 ? 1 : 0)).join('');
    return new Set(Array.from({ length: type.count }, (_, ordinal) => hasValue(ordinal))).size;
  };
  expect([numberOfSets(false), numberOfSets(true)]).toEqual([16, 93]);
});
