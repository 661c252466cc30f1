import { expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import type { AnyResource } from '../../src/index.js';
import { indexEntries, type IndexEntry, type IndexValue, R4 } from '../../src/store.js';

test('long strings are indexed folded, in each of their parameters', () => {
  const texts = Array.from({ length: 30 }, (_, n) => `É${n}${'-x'.repeat(1_000)}`);
  const contained = [{ resourceType: 'Practitioner', id: 'p', name: texts.map((family) => ({ family })) }];
  const names = { name: texts.map((family) => ({ family })), contained };
  const resource = of({ resourceType: 'Patient', ...names, generalPractitioner: [{ reference: '#p' }] });
  const result = indexEntries(R4, resource);
  expect(result.filter(({ parameter }) => parameter === '#Practitioner.family')).toHaveLength(30);
  const values = new Set(result.filter(({ parameter }) => /^(name|family|phonetic)$/.test(parameter)).map(valueOf));
  expect([...values]).toEqual(texts.map((text, n) => ({ kind: 'string', text, folded: `e${n}${' x'.repeat(1_000)}` })));
});

test('words of long strings are indexed', async () => {
  const model = await extendDefinitions(R4, { words: true });
  const name = [{ family: `Long ${'Ab-cd '.repeat(300)}` }, { family: 'ab Short' }];
  const resource = of({ resourceType: 'Patient', name });
  const words = indexEntries(model, resource)
    .filter(({ parameter }) => parameter === 'family:words')
    .map(valueOf);
  expect(words.map((value) => value.kind === 'string' && value.text)).toEqual(['long', 'ab', 'cd', 'short']);
});

test('a value is indexed once, for any number of values of each kind', () => {
  const twice = <Item>(items: readonly Item[]): Item[] => [...items, ...items];
  const names = Array.from({ length: 40 }, (_, n) => ({ family: `F ${n}`, given: [`s${n}`, `uF ${n}`] }));
  const entries = indexEntries(R4, of({ resourceType: 'Patient', name: twice(names) }));
  expect(entries.filter(({ parameter }) => parameter === 'family')).toHaveLength(40);
  expect(entries.filter(({ parameter }) => parameter === 'given')).toHaveLength(80);
  const urls = Array.from({ length: 40 }, (_, n) => `http://x/${n}`);
  const profiled = indexEntries(R4, of({ resourceType: 'Patient', meta: { profile: twice(urls) } as object }));
  expect(profiled.filter(({ parameter }) => parameter === '_profile')).toHaveLength(40);
  const activity = Array.from({ length: 40 }, (_, n) => ({ detail: { scheduledPeriod: { start: `20${10 + n}` } } }));
  const dated = indexEntries(R4, of({ resourceType: 'CarePlan', activity: twice(activity) }));
  expect(dated.filter(({ parameter }) => parameter === 'activity-date')).toHaveLength(40);
});

function valueOf({ value }: IndexEntry): IndexValue {
  return value;
}

function of(resource: AnyResource & Readonly<Record<string, unknown>>): AnyResource {
  return resource;
}
