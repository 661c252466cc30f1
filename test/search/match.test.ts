import {
  type Criteria,
  type IndexEntry,
  type IndexValue,
  matches,
  R4,
  type SearchSubject,
  type ValueTest,
} from '../../src/store.js';
import { createRandom } from '../support/kit.js';
import { describe, expect, it } from 'vitest';
import { SEED } from '../support/chance.js';
import { parseFilter } from '../../src/search/parse/filter/parse-filter.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { EMPTY_WORLD, refusal, subject, text, worldOf } from './harness.js';

const code = (value: string): IndexValue => ({ kind: 'token', code: value });
const local = (reference: string): IndexValue => {
  const [type, id] = reference.split('/') as [string, string];
  return { kind: 'reference', type, id };
};
const quantity = (value: number): IndexValue => ({ kind: 'quantity', low: value, high: value, code: 'mmHg' });

const ann = subject('Patient/ann', {
  name: [text('Ann'), text('Smith')],
  'name:words': [text('ann smith '), text('smith ann ')],
  family: [text('Smith')],
  gender: [code('female')],
});
const bob = subject('Patient/bob', {
  name: [text('Bob'), text('Jones')],
  'name:words': [text('bob jones '), text('jones bob ')],
  family: [text('Jones')],
  'general-practitioner': [local('Practitioner/eve')],
});
const eve = subject('Practitioner/eve', { name: [text('Eve')], 'name:words': [text('eve ')] });
const height = subject('Observation/height', {
  code: [code('8302-2')],
  subject: [local('Patient/ann')],
  patient: [local('Patient/ann')],
});
const weight = subject('Observation/weight', {
  code: [code('29463-7')],
  subject: [local('Patient/bob')],
  patient: [local('Patient/bob')],
  'has-member': [local('Observation/height')],
});
const dangling = subject('Observation/dangling', { code: [code('8302-2')], subject: [local('Patient/nobody')] });
const foreign = subject('Observation/foreign', { subject: [{ kind: 'reference', url: 'http://x/Patient/ann' }] });
const all = [ann, bob, eve, height, weight, dangling, foreign];
const world = worldOf(...all);

/** Ids of the subjects of the type that match, in the order above. */
function found(type: string, criteria: Criteria): readonly string[] {
  return all.filter((one) => one.type === type && matches(criteria, one, world)).map(({ id }) => id);
}

describe('searches over a small world', () => {
  it.each<[string, string, readonly string[]]>([
    ['Patient', '', ['ann', 'bob']],
    ['Patient', 'name=smi', ['ann']],
    ['Patient', 'name=smi,jon', ['ann', 'bob']],
    ['Patient', 'name=smi&name=ann', ['ann']],
    ['Patient', 'name=smi&name=bob', []],
    ['Patient', 'gender=female', ['ann']],
    ['Patient', 'gender:not=female', ['bob']],
    ['Patient', 'gender:not=male', ['ann', 'bob']],
    ['Patient', 'gender:missing=true', ['bob']],
    ['Patient', 'gender:missing=false', ['ann']],
    ['Patient', '_id=bob,nobody', ['bob']],
    ['Patient', '_id:not=bob', ['ann']],
    ['Patient', 'general-practitioner.name=ev', ['bob']],
    ['Patient', 'general-practitioner:Practitioner._id=eve', ['bob']],
    ['Patient', 'general-practitioner:Organization.name=ev', []],
    ['Patient', '_has:Observation:patient:code=8302-2', ['ann']],
    ['Patient', '_has:Observation:patient:code=8302-2,29463-7', ['ann', 'bob']],
    ['Patient', '_has:Observation:patient:code:missing=true', []],
    ['Patient', '_has:Observation:patient:_has:Observation:has-member:code=29463-7', ['ann']],
    ['Observation', 'subject=ann', ['height']],
    ['Observation', 'subject:missing=true', []],
    ['Observation', 'subject:Patient.family=smith', ['height']],
    ['Observation', 'subject.general-practitioner.name=eve', ['weight']],
    ['Observation', 'has-member.subject.family=smith', ['weight']],
    // A chain needs a resource at its end, even for an absent element.
    ['Observation', 'subject:Patient.gender:missing=true', ['weight']],
    ['Observation', 'subject:Patient.gender:not=male', ['height', 'weight']],
    ['Observation', 'subject=http://x/Patient/ann', ['foreign']],
  ])('%s?%s', (type, query, ids) => {
    expect(found(type, parseSearch(R4, type, query).criteria)).toEqual(ids);
  });

  it.each<[string, string, readonly string[]]>([
    ['Patient', 'family eq smith', ['ann']],
    ['Patient', 'family eq smi', []],
    ['Patient', 'family ne smith', ['bob']],
    ['Patient', 'name ne smith', ['ann', 'bob']],
    ['Patient', 'family ew ES', ['bob']],
    ['Patient', 'name co nn', ['ann']],
    ['Patient', 'gender ne male', ['ann']],
    ['Patient', 'gender pr false', ['bob']],
    ['Observation', 'subject ne Patient/ann', ['weight', 'dangling', 'foreign']],
    ['Observation', 'not (subject eq Patient/ann)', ['weight', 'dangling', 'foreign']],
    ['Observation', 'subject[family eq jones].general-practitioner.name sw e', ['weight']],
  ])('%s _filter %s', (type, filter, ids) => {
    expect(found(type, parseFilter(R4, type, filter))).toEqual(ids);
  });
});

describe('composites', () => {
  const component = (group: number, of: string, value: number): readonly IndexEntry[] => [
    { parameter: 'component-code-value-quantity$0', group, value: code(of) },
    { parameter: 'component-code-value-quantity$1', group, value: quantity(value) },
  ];
  const pressure = subject('Observation/bp', {}, [...component(1, 'systolic', 120), ...component(2, 'diastolic', 80)]);

  it.each([
    ['systolic$gt100', true],
    ['diastolic$gt100', false],
    ['diastolic$lt100', true],
    ['systolic$lt100', false],
    ['mean$gt1', false],
    ['systolic$120||mmHg', true],
    ['systolic$120||kg', false],
    ['diastolic$gt100,systolic$gt100', true],
  ])('component-code-value-quantity=%s: %s', (value, expected) => {
    const { criteria } = parseSearch(R4, 'Observation', { 'component-code-value-quantity': value });
    expect(matches(criteria, pressure, EMPTY_WORLD)).toBe(expected);
  });
});

describe('_lastUpdated', () => {
  const changed = subject('Patient/1', {}, [], Date.parse('2020-05-01T10:00:00.500Z'));

  it.each([
    ['2020-05-01', true],
    ['2020-05-01T10:00:00.500Z', true],
    ['2020-05-01T10:00:00.499Z', false],
    ['gt2020-05-01T10:00:00.500Z', false],
    ['ge2020-05-01T10:00:00.500Z', true],
    ['lt2020-05-01T10:00:00.500Z', false],
    ['gt2020-05-01T10:00:00.499Z', true],
    ['sa2020-04', true],
    ['eb2020-05-01', false],
    ['ne2020', false],
  ])('%s: %s', (value, expected) => {
    expect(matches(parseSearch(R4, 'Patient', { _lastUpdated: value }).criteria, changed, EMPTY_WORLD)).toBe(expected);
  });
});

describe('lists of ids', () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => `p${index}`);

  it('of alternatives are one list', () => {
    const filter = ids.map((id) => `_id eq ${id}`).join(' or ');
    expect(parseSearch(R4, 'Patient', { _filter: filter }).criteria).toEqual({ kind: 'id', ids });
    const both = parseSearch(R4, 'Patient', { _filter: '_id eq a or gender eq male or _id eq b or _id eq a' }).criteria;
    expect(both).toMatchObject({ kind: 'or', of: [{ kind: 'id', ids: ['a', 'b'] }, { kind: 'match' }] });
  });

  it('are searched once for all resources', () => {
    let looks = 0;
    const watched = new Proxy(ids, {
      get: (target, name) => {
        if (typeof name === 'string' && /^\d+$/.test(name)) looks += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
    const criteria: Criteria = { kind: 'id', ids: watched };
    const found = [...ids, 'other'].filter((id) => matches(criteria, { ...ann, id }, EMPTY_WORLD));
    expect(found).toEqual(ids);
    expect(looks).toBe(ids.length);
  });
});

describe('hostile input', () => {
  it('refuses criteria nested too deep instead of overflowing', () => {
    let deep: Criteria = { kind: 'id', ids: ['x'] };
    for (let level = 0; level < 100_000; level++) deep = { kind: 'not', of: deep };
    expect(refusal(() => matches(deep, ann, world)).code).toBe('too-costly');
  });

  it('ends on circular references', () => {
    const loop: SearchSubject = subject('Observation/loop', { 'has-member': [local('Observation/loop')] });
    const path = `${'has-member:Observation.'.repeat(8)}_id`;
    const { criteria } = parseSearch(R4, 'Observation', { [path]: 'loop' });
    expect(matches(criteria, loop, worldOf(loop))).toBe(true);
  });

  it('has no parameters under the names of prototypes', () => {
    const criteria: Criteria = { kind: 'match', parameter: '__proto__', test: { kind: 'token', code: 'x' } };
    expect(matches(criteria, ann, world)).toBe(false);
  });
});

it(`many alternatives together find what each of them finds (seed ${SEED})`, () => {
  const random = createRandom(SEED);
  const below = (limit: number): number => Math.floor(random() * limit);
  const values: readonly (() => IndexValue)[] = [
    () => ({ kind: 'token', code: `c${below(60)}`, ...(below(2) === 0 ? {} : { system: `s${below(2)}` }) }),
    () => ({ kind: 'token', system: 's0' }),
    () => local(`${below(2) === 0 ? 'Patient' : 'Group'}/c${below(60)}`),
    () => ({ kind: 'reference', url: `c${below(60)}` }),
    () => ({ kind: 'uri', value: `c${below(60)}` }),
    () => ({ kind: 'string', text: `C${below(60)}`, folded: `c${below(60)}` }),
  ];
  const tests: readonly ((text: string) => ValueTest)[] = [
    (text) => ({ kind: 'token', code: text }),
    (text) => ({ kind: 'token', code: `x${text}`, folded: text }),
    (text) => ({ kind: 'token', code: text, system: `s${below(2)}` }),
    (text) => ({ kind: 'token', code: text, noSystem: true }),
    (text) => ({ kind: 'token', code: text, negated: below(9) === 0 }),
    (text) => ({ kind: 'reference', types: ['Patient'], id: text }),
    (text) => ({ kind: 'reference', id: text }),
    (text) => ({ kind: 'reference', url: text }),
    (text) => ({ kind: 'uri', comparator: 'equals', value: text }),
    (text) => ({ kind: 'string', comparator: 'equals', text }),
    (text) => ({ kind: 'string', comparator: 'exact', text: text.toUpperCase() }),
  ];
  const parameters = ['a', 'b', 'c'];
  for (let round = 0; round < 300; round++) {
    const [one] = [tests[below(tests.length)]!];
    const of = Array.from({ length: 28 + below(12) }, (): Criteria => {
      const testOf = below(4) === 0 ? tests[below(tests.length)]! : one;
      return { kind: 'match', parameter: parameters[below(3)]!, test: testOf(`c${below(60)}`) };
    });
    for (let each = 0; each < 10; each++) {
      const entries = Array.from({ length: 1 + below(2) }, () => [
        parameters[below(3)]!,
        [values[below(values.length)]!()],
      ]);
      const resource = subject('Patient/ann', Object.fromEntries(entries) as Parameters<typeof subject>[1]);
      const expected = of.some((alternative) => matches(alternative, resource, EMPTY_WORLD));
      expect([of, entries, matches({ kind: 'or', of }, resource, EMPTY_WORLD)]).toEqual([of, entries, expected]);
    }
  }
});
