import { describe, expect, test } from 'vitest';
import {
  type PolicyValue,
  criteriaConditions,
  criteriaParameters,
  policyCriteria,
} from '../../src/access/policy/policy-criteria.js';
import { assertPolicyWrite } from '../../src/access/policy/validate-policy.js';
import { FhirError } from '../../src/index.js';
import { type Criteria, fold, R4 } from '../../src/store.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';

await loadFhirPath();

type Values = { readonly [name: string]: PolicyValue | readonly PolicyValue[] };

function text(value: string): PolicyValue {
  return { kind: 'string', text: value };
}

function reference(type: string, id: string): PolicyValue {
  return { kind: 'reference', type, id };
}

function criteria(type: string, written: string, values: Values = {}): Criteria {
  const parameters = Object.entries(values).map(([name, value]) => [name, [value].flat()] as const);
  return policyCriteria(R4, type, written, new Map(parameters as [string, PolicyValue[]][]));
}

function token(code: string, system?: string): object {
  return { kind: 'token', ...(system === undefined ? {} : { system }), code };
}

describe('criteria of a policy', () => {
  test('are a search of the type', () => {
    expect(criteria('Patient', 'Patient?gender=male&active=true')).toEqual({
      kind: 'and',
      of: [
        { kind: 'match', parameter: 'gender', test: token('male') },
        { kind: 'match', parameter: 'active', test: token('true') },
      ],
    });
    for (const all of ['Patient', 'Patient?', '?', '*', '*?', 'Patient?&']) {
      expect(criteria('Patient', all)).toEqual({ kind: 'all' });
    }
  });

  test('decode percent-encoding like URLs', () => {
    expect(criteria('Patient', 'Patient?identifier=http%3A%2F%2Fx%7C1+2')).toEqual({
      kind: 'match',
      parameter: 'identifier',
      test: token('1 2', 'http://x'),
    });
    expect(criteria('Patient', 'Patient?family:exact=M%C3%BCller')).toMatchObject({ test: { text: 'Müller' } });
    expect(criteria('Patient', 'Patient?family:exact=%c3%a4%c3%a4')).toMatchObject({ test: { text: 'ää' } });
  });

  test.each([
    ['another type', 'Observation?status=final', 'The criteria search another type than Patient'],
    ['another type alone', 'Observation', 'The criteria search another type than Patient'],
    ['another type, by a parameter of both', 'Observation?_id=x', 'The criteria search another type than Patient'],
    ['no question mark', 'gender=male', 'Policy criteria begin with "Patient?"'],
    ['a parameter without value', 'Patient?gender', 'Each parameter of policy criteria needs "=" and a value'],
    ['a value without parameter', 'Patient?=x', 'Unknown search parameter "" of Patient'],
    ['an unknown parameter', 'Patient?colour=red', 'Unknown search parameter "colour"'],
    ['a malformed value', 'Patient?birthdate=soon', 'Search parameter "birthdate" takes a date'],
    ['a page', 'Patient?_count=1', '"_count" has no meaning in policy criteria'],
    ['an order', 'Patient?_sort=name', '"_sort" has no meaning in policy criteria'],
    ['a format', 'Patient?_format=json', '"_format" has no meaning in policy criteria'],
    ['a layout', 'Patient?gender=male&_pretty=true', '"_pretty" has no meaning in policy criteria'],
    ['a compartment of nothing', 'Patient?_compartment=somewhere', '_compartment needs a reference such as Patient/1'],
    ['a broken escape', 'Patient?family=m%', 'Each "%" must begin an escape such as %20'],
    ['a parameter without value in _filter', 'Patient?_filter=family eq %word', 'Each "%" must begin an escape'],
  ])('are refused with %s', (_, written, message) => {
    expect(() => criteria('Patient', written)).toThrow(
      expect.objectContaining({ code: 'invalid', message: expect.stringContaining(message) }),
    );
  });

  test('can omit the type, and match nothing without a value', () => {
    expect(criteria('Patient', '?gender=male')).toMatchObject({ parameter: 'gender', test: token('male') });
    for (const empty of ['family=', 'family=,', '_compartment=']) {
      expect(criteria('Patient', `Patient?${empty}`)).toEqual({ kind: 'none' });
    }
  });

  test('are distinguished by parameter, each with its placeholders without a value', () => {
    const parameters = new Map([['b', [text('B')]]]);
    const conditions = criteriaConditions(R4, 'Patient', 'Patient?gender=%a,%b&family=%b&&_id=%c.id', parameters);
    expect(conditions.map(({ text: written, missing }) => [written, missing])).toEqual([
      ['gender=%a,%b', ['a']],
      ['family=%b', []],
      ['_id=%c.id', ['c']],
    ]);
  });

  test.each<[string, readonly string[], readonly string[]]>([
    ['Patient?a=%x,%y.id&b=Patient/%z.id,plain', ['x', 'y', 'z'], []],
    ['?a=%x&_compartment=%c', ['x'], ['c']],
    ['Patient?_filter=a eq %x and (b eq %y.id) or c eq Patient/%z', ['x', 'y', 'z'], []],
    ['Patient?_filter=a%20eq%20%x%20and%20%28b+eq+%y%29', ['x', 'y'], []],
    ['Patient?_filter=a eq "%x" and b eq x%y', [], []],
    ['Patient?a=x%y&b=%20', [], []],
    ['Patient?a=', [], []],
    ['Patient', [], []],
    ['a=%x', [], []],
  ])('%s has its placeholders', (written, values, owners) => {
    const named = (names: readonly string[], owner: boolean): object[] => names.map((name) => ({ name, owner }));
    expect(criteriaParameters(written)).toEqual([...named(values, false), ...named(owners, true)]);
  });
});

describe('a parameter', () => {
  const subject = { kind: 'reference', types: ['Patient'], id: '1' };

  test('is replaced by a whole value: a reference, its id, or a string', () => {
    const values = { patient: reference('Patient', '1'), word: text('male') };
    for (const written of ['subject=%patient', 'subject=Patient/%patient.id', 'patient=%patient.id']) {
      expect(criteria('Observation', `Observation?${written}`, values)).toMatchObject({ test: { id: '1' } });
    }
    expect(criteria('Observation', 'Observation?subject=%patient', values)).toEqual({
      kind: 'match',
      parameter: 'subject',
      test: subject,
    });
    expect(criteria('Patient', 'Patient?gender=%word', values)).toMatchObject({ test: token('male') });
    expect(criteria('Patient', 'Patient?_id=%patient.id', values)).toEqual({ kind: 'id', ids: ['1'] });
  });

  test('with several values matches any of them', () => {
    const values = { unit: [reference('Organization', 'a'), reference('Organization', 'b')] };
    expect(criteria('Patient', 'Patient?organization=%unit', values)).toEqual({
      kind: 'or',
      of: ['a', 'b'].map((id) => ({
        kind: 'match',
        parameter: 'organization',
        test: { kind: 'reference', types: ['Organization'], id },
      })),
    });
  });

  test.each(['organization=%unit', 'organization=Organization/%unit.id', 'organization:not=%unit', '_id=%unit.id'])(
    'without a value matches nothing: %s',
    (written) => {
      expect(criteria('Patient', `Patient?${written}`)).toEqual({ kind: 'none' });
    },
  );

  test('is its whole name, even a name that looks like an escape or begins like another', () => {
    const values = { facility: text('F'), fa: text('X'), ab: text('Y'), 'ab-c': text('Z') };
    expect(criteria('Patient', 'Patient?identifier=%facility', values)).toMatchObject({ test: token('F') });
    expect(criteria('Patient', 'Patient?identifier=%fa', values)).toMatchObject({ test: token('X') });
    expect(criteria('Patient', 'Patient?identifier=%ab-c', values)).toMatchObject({ test: token('Z') });
    expect(criteria('Patient', 'Patient?_filter=identifier eq %facility', values)).toMatchObject({ test: token('F') });
  });

  test.each([
    'gender=x%word',
    'gender=%word%word',
    'identifier=http://x|%word',
    '_filter=family eq "%word"',
    '_filter=family eq x%word',
    'family:exact=x%word',
    '_filter=family eq "a \\" %word"',
    "_filter=family eq '%word'",
    "_filter=family eq 'a %word b'",
    "_filter=family eq 'a \\' %word b'",
  ])('inside other text is refused: %s', (written) => {
    const [name] = written.split('=');
    expect(() => criteria('Patient', `Patient?${written}`, { word: text('male') })).toThrow(
      new FhirError('invalid', `A parameter in "${name}" must be a whole value, not a part of other text`),
    );
  });

  test('is the whole reference, or an id after the type', () => {
    const unit = reference('Organization', 'a');
    const found = { kind: 'match', parameter: 'organization', test: { kind: 'reference', types: ['Organization'], id: 'a' } }; // prettier-ignore
    for (const value of [unit, text('a')]) {
      for (const written of ['Organization/%unit', 'Organization/%unit.id']) {
        expect(criteria('Patient', `Patient?organization=${written}`, { unit: value })).toEqual(found);
      }
      // Of several possible types, only the written type.
      expect(criteria('Observation', 'Observation?subject=Group/%unit.id', { unit: value })).toMatchObject({ test: { types: ['Group'], id: 'a' } }); // prettier-ignore
      const whole = criteria('Observation', 'Observation?subject=Group/%unit', { unit: value });
      expect(whole).toMatchObject({ test: { types: ['Group'], id: 'a' } });
    }
  });

  test('is no id at all if one of its values is not an id, so that nothing less is excluded', () => {
    const unit = [text('a'), text('not an id')];
    for (const written of ['_id=%unit.id', 'organization:not=Organization/%unit.id', 'organization:not=%unit.id']) {
      expect(criteria('Patient', `Patient?${written}`, { unit })).toEqual({ kind: 'none' });
    }
  });

  test.each([[[]], [['male', 'female']]])(
    'inside _filter has exactly one value, and not the values of %j',
    (values) => {
      const word = values.map(text);
      expect(() => criteria('Patient', 'Patient?_filter=gender eq %word', { word })).toThrow(
        new FhirError('invalid', 'A parameter inside _filter must have exactly one value'),
      );
    },
  );

  test('is combined in _filter with literals, which are decoded like URLs', () => {
    const found = criteria('Patient', 'Patient?_filter=family+eq "a%20b" and+given+eq+%word+and _id eq %who.id', {
      word: text('x'),
      who: reference('Patient', '1'),
    });
    const equal = (parameter: string, value: string): object => ({ kind: 'match', parameter, test: { kind: 'string', comparator: 'equals', text: value } }); // prettier-ignore
    expect(found).toEqual({
      kind: 'and',
      of: [equal('family', 'a b'), equal('given', 'x'), { kind: 'id', ids: ['1'] }],
    });
  });
});

describe('the value of a parameter', () => {
  const HOSTILE = [
    'Patient/1,Patient/2',
    'a|b',
    '|',
    'x&gender=male',
    'x&_id=1',
    '%26gender%3Dmale',
    '%other',
    '$',
    'a$b',
    '\\',
    'a\\,b',
    '"',
    "O'Brien",
    'x" or family ne "y',
    'x") or (gender eq male',
    ' or gender eq male',
    '1 2',
    '*',
    '',
  ];

  test.each(HOSTILE.filter((value) => value !== ''))('is one string: %j', (value) => {
    const values = { word: text(value), other: text('stolen') };
    expect(criteria('Patient', 'Patient?family:exact=%word', values)).toEqual({
      kind: 'match',
      parameter: 'family',
      test: { kind: 'string', comparator: 'exact', text: value },
    });
  });

  test('that is empty is refused, because it would match nothing', () => {
    expect(() => criteria('Patient', 'Patient?family=%word', { word: text('') })).toThrow(/needs a value/);
  });

  test.each(HOSTILE.filter((value) => value !== ''))('is one code: %j', (value) => {
    expect(criteria('Patient', 'Patient?identifier=%word', { word: text(value), other: text('stolen') })).toEqual({
      kind: 'match',
      parameter: 'identifier',
      test: token(value),
    });
  });

  test.each(HOSTILE.filter((value) => value.trim() !== ''))('is one literal of _filter: %j', (value) => {
    const found = criteria('Patient', 'Patient?_filter=gender eq female and identifier eq %word', {
      word: text(value),
    });
    expect(found).toEqual({
      kind: 'and',
      of: [
        { kind: 'match', parameter: 'gender', test: token('female') },
        { kind: 'match', parameter: 'identifier', test: token(value) },
      ],
    });
    if (fold(value) === '') return;
    const given = criteria('Patient', 'Patient?_filter=gender eq female and given eq %word', { word: text(value) });
    expect(given).toMatchObject({
      kind: 'and',
      of: [{ parameter: 'gender' }, { kind: 'match', parameter: 'given', test: { comparator: 'equals' } }],
    });
  });

  test.each(HOSTILE)('is no other resource if an id is expected: %j', (value) => {
    const none = { kind: 'none' };
    expect(criteria('Patient', 'Patient?organization=Organization/%unit.id', { unit: text(value) })).toEqual(none);
    expect(criteria('Patient', 'Patient?_id=%unit.id', { unit: text(value) })).toEqual(none);
  });

  // Searches of strings ignore punctuation, and every string begins with the rest of such a value.
  test.each(['-', '*', '.,;', "'", '\u0301', '\u200b'])('with only punctuation is no string: %j', (word) => {
    const asked = (search: string): Criteria =>
      criteria('Patient', `Patient?${search}`, { word: text(word), other: text('Ann') });
    const nothingLeft = (name: string): FhirError =>
      new FhirError(
        'invalid',
        `Search parameter "${name}" ignores punctuation, blanks and accents, and its value has nothing else`,
      );
    for (const name of ['family', 'family:contains', 'organization.name', '_has:Person:patient:name']) {
      expect(() => asked(`${name}=%word`)).toThrow(nothingLeft(name.startsWith('family') ? 'family' : 'name'));
    }
    for (const operator of ['eq', 'ne', 'sw', 'co', 'ew']) {
      expect(() => asked(`_filter=given eq %other or family ${operator} %word`)).toThrow(
        /^Search parameter "family" ignores punctuation/,
      );
    }
    expect(asked('family:exact=%word')).toMatchObject({ test: { comparator: 'exact', text: word } });
    expect(asked('identifier=%word')).toMatchObject({ test: { code: word } });
    expect(asked('_filter=identifier eq %word')).toMatchObject({ test: { code: word } });
  });

  test('of symbols is a string', () => {
    expect(criteria('Patient', 'Patient?family=%word', { word: text('+☺') })).toMatchObject({ test: { text: '+☺' } });
  });

  test('does not change the literal parts of a policy', () => {
    const values = { word: text('Ann') };
    expect(criteria('Patient', 'Patient?family=*b', values)).toMatchObject({ test: { text: 'b' } });
    expect(criteria('Patient', 'Patient?_filter=family sw "*b" and given sw %word', values)).toMatchObject({
      of: [{ test: { text: 'b' } }, { test: { text: 'ann' } }],
    });
    expect(() => criteria('Patient', 'Patient?family=*', values)).toThrow(FhirError);
  });

  test('adds no comparison to a date', () => {
    expect(criteria('Patient', 'Patient?birthdate=%day', { day: text('2020-01-01') })).toMatchObject({
      test: { prefix: 'eq' },
    });
    for (const day of ['ge2020-01-01', 'ne2020-01-01', 'ap2020']) {
      expect(() => criteria('Patient', 'Patient?birthdate=%day', { day: text(day) })).toThrow(FhirError);
    }
  });

  test.each([
    ['Patient', '_lastUpdated', '2020-01-01'],
    ['Observation', 'subject.birthdate', '2020-01-01'],
    // Over several types of resources: an alternative for each.
    ['Observation', 'derived-from.date', '2020-01-01'],
    ['Patient', '_has:Observation:subject:date', '2020-01-01'],
    ['RiskAssessment', 'probability', '0.5'],
    ['Observation', 'value-quantity', '5'],
  ])('adds no comparison to a search of %s by %s', (type, name, value) => {
    expect(JSON.stringify(criteria(type, `${type}?${name}=%x`, { x: text(value) }))).toContain('"prefix":"eq"');
    for (const prefix of ['ge', 'lt', 'ne', 'sa', 'ap']) {
      expect(() => criteria(type, `${type}?${name}=%x`, { x: text(prefix + value) })).toThrow(
        new FhirError('invalid', `A parameter in "${name}" has a value that begins with a comparison such as ge`),
      );
    }
  });
});

describe('a compartment in criteria', () => {
  test('of a patient is that of HL7', () => {
    const found = criteria('Observation', 'Observation?_compartment=%patient', { patient: reference('Patient', '1') });
    const test = { kind: 'reference', types: ['Patient'], id: '1' };
    expect(found).toEqual({
      kind: 'or',
      of: ['subject', 'performer'].map((parameter) => ({ kind: 'match', parameter, test })),
    });
    expect(criteria('Patient', 'Patient?_compartment=Patient/1')).toEqual({ kind: 'id', ids: ['1'] });
    expect(criteria('Medication', 'Medication?_compartment=Patient/1')).toEqual({ kind: 'none' });
  });

  test('of another resource is the resource itself and the resources that refer to it', () => {
    expect(criteria('Organization', 'Organization?_compartment=Organization/1')).toMatchObject({
      kind: 'or',
      of: expect.arrayContaining([{ kind: 'id', ids: ['1'] }]),
    });
    expect(criteria('Location', 'Location?_compartment=Organization/1')).toMatchObject({
      kind: 'match',
      parameter: 'organization',
      test: { id: '1', types: ['Organization'] },
    });
  });
});

describe('writing a policy', () => {
  const rule = { resourceType: 'Patient' };

  test.each<[string, object]>([
    ['an unknown type', { resourceType: 'Pateint' }],
    ['criteria that are not search', { ...rule, criteria: 'Patient?colour=red' }],
    ['an unknown interaction', { ...rule, interaction: ['peek'] }],
    ['an unknown hidden field', { ...rule, hiddenFields: ['birthday'] }],
    ['an unknown readonly field', { ...rule, readonlyFields: ['name.x'] }],
    ['a constraint without expression', { ...rule, writeConstraint: [{}] }],
    ['a compartment of nothing', { ...rule, compartment: { reference: 'nowhere' } }],
    ['a field of no type at all', { resourceType: '*', hiddenFields: ['nonsense'] }],
  ])('is refused with %s, and the error names the rule', (_, broken) => {
    const policy = { resourceType: 'AccessPolicy', id: 'p', resource: [rule, broken] };
    expect(() => assertPolicyWrite(R4, policy as never)).toThrow(
      expect.objectContaining({ code: 'policy-invalid', details: { policy: 'AccessPolicy/p', rule: 2 } }),
    );
  });

  test('is accepted with parameters that have no values yet', () => {
    const resource = [
      { resourceType: 'Patient', criteria: 'Patient?organization=%org&_id=%patient.id' },
      { resourceType: 'Observation', criteria: 'Observation?_filter=subject eq %patient' },
      { resourceType: '*', compartment: { reference: '%patient' } },
    ];
    expect(() => assertPolicyWrite(R4, { resourceType: 'AccessPolicy', id: 'p', resource } as never)).not.toThrow();
  });
});
