import { afterEach, expect, test } from 'vitest';
import { R4 } from '../../src/fhir/r4.js';
import { extendDefinitions } from '../../src/search/extend/extend-definitions.js';
import { PACE } from '../../src/platform/loop-turn.js';
import { Pace } from '../../src/platform/pace.js';
import { indexEntries, indexEntriesInTurns } from '../../src/search/index/index-resource.js';
import type { IndexEntry, IndexValue } from '../../src/search/index/index-entry.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import { createRandom } from '../../src/testing/random.js';
import { randomResources } from '../../src/testing/random-resources.js';
import { cases, SEED } from '../support/chance.js';
import { countTurns } from '../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

test('a large resource is indexed with other work between its parameters', async () => {
  PACE.turnMs = 0;
  const resource = { resourceType: 'Patient', name: [{ family: 'Hill' }], active: true };
  const { result, turns } = await countTurns(() => indexEntriesInTurns(R4, resource, new Pace()));
  expect(result).toEqual(indexEntries(R4, resource));
  // Patient has some 25 search parameters.
  expect(turns).toBeGreaterThan(20);
});

test('long strings are folded once for all parameters, with other work between them', async () => {
  PACE.turnMs = 0;
  const texts = Array.from({ length: 30 }, (_, n) => `É${n}${'-x'.repeat(1_000)}`);
  const contained = [{ resourceType: 'Practitioner', id: 'p', name: texts.map((family) => ({ family })) }];
  const names = { name: texts.map((family) => ({ family })), contained };
  const resource = of({ resourceType: 'Patient', ...names, generalPractitioner: [{ reference: '#p' }] });
  const { result, turns } = await countTurns(() => indexEntriesInTurns(R4, resource, new Pace()));
  expect(result).toEqual(indexEntries(R4, resource));
  expect(result.filter(({ parameter }) => parameter === '#Practitioner.family')).toHaveLength(30);
  // Patient and Practitioner have them as `name`, `family` and `phonetic`.
  expect(turns).toBeGreaterThan(6 * texts.length);
  const values = new Set(result.filter(({ parameter }) => /^(name|family|phonetic)$/.test(parameter)).map(valueOf));
  expect([...values]).toEqual(texts.map((text, n) => ({ kind: 'string', text, folded: `e${n}${' x'.repeat(1_000)}` })));
});

test('many values of one parameter are indexed with other work between them', async () => {
  const withComponents = (length: number): AnyResource => {
    const component = Array.from({ length }, (_, n) => ({
      code: { coding: [{ system: 'http://x', code: `c${n % 1_500}` }] },
      valueQuantity: n % 3 === 0 ? undefined : { value: n, unit: 'mg' },
    }));
    return of({ resourceType: 'Observation', status: 'final', component });
  };
  const containing = (resource: AnyResource): AnyResource =>
    of({ resourceType: 'Observation', hasMember: [{ reference: '#o' }], contained: [{ ...resource, id: 'o' }] });
  const turnsOf = async (resource: AnyResource): Promise<number> => {
    const { result, turns } = await countTurns(() => indexEntriesInTurns(R4, resource, new Pace()));
    expect(result).toEqual(indexEntries(R4, resource));
    return turns;
  };
  PACE.turnMs = 0;
  for (const make of [withComponents, (length: number) => containing(withComponents(length))]) {
    // Six parameters have values of components.
    expect(await turnsOf(make(2_000))).toBeGreaterThan((await turnsOf(make(1))) + 30);
  }
});

test('words of long strings are indexed in turns too', async () => {
  const model = await extendDefinitions(R4, { words: true });
  const name = [{ family: `Long ${'Ab-cd '.repeat(300)}` }, { family: 'ab Short' }];
  const resource = of({ resourceType: 'Patient', name });
  const entries = await indexEntriesInTurns(model, resource, new Pace());
  expect(new Set(entries)).toEqual(new Set(indexEntries(model, resource)));
  const words = entries.filter(({ parameter }) => parameter === 'family:words').map(valueOf);
  expect(words.map((value) => value.kind === 'string' && value.text)).toEqual(['ab', 'short', 'long', 'cd']);
});

test(`indexed in turns, resources have the same entries (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  for (let left = cases(5, 1); left > 0; left--) {
    for (const resource of randomResources(random)) {
      expect(await indexEntriesInTurns(R4, resource, new Pace())).toEqual(indexEntries(R4, resource));
    }
  }
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
