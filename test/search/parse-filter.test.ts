import { type Criteria, R4 } from '../../src/store.js';
import { describe, expect, it } from 'vitest';
import { and, not, or } from '../../src/search/criteria/criteria.js';
import { parseFilter } from '../../src/search/parse/filter/parse-filter.js';
import { depthOf, refusal } from './harness.js';

const token = (parameter: string, code: string): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code },
});
const family = (
  comparator: 'equals' | 'not-equals' | 'contains' | 'starts-with' | 'ends-with',
  text: string,
): Criteria => ({
  kind: 'match',
  parameter: 'family',
  test: { kind: 'string', comparator, text },
});
const male = token('gender', 'male');
const female = token('gender', 'female');
const active = token('active', 'true');

describe('grammar', () => {
  it.each<[string, Criteria]>([
    ['gender eq male', male],
    ['  gender   eq\tmale  ', male],
    ['gender EQ male', male],
    ['(gender eq male)', male],
    ['((gender eq male))', male],
    ['not (gender eq male)', not(male)],
    ['not(gender eq male)', not(male)],
    ['not (not (gender eq male))', male],
    ['gender eq male and active eq true', and([male, active])],
    ['gender eq male or gender eq female', or([male, female])],
    // left to right, equal rank
    ['gender eq male or gender eq female and active eq true', and([or([male, female]), active])],
    ['active eq true and gender eq male or gender eq female', or([and([active, male]), female])],
    ['active eq true and (gender eq male or gender eq female)', and([active, or([male, female])])],
    ['gender eq male AND active eq true', and([male, active])],
    ['(gender eq male)and(active eq true)', and([male, active])],
    ['not (gender eq male) and active eq true', and([not(male), active])],
    // values: JSON strings and bare tokens
    ['family eq "O\'Brien (jr) ] x"', family('equals', 'obrien jr x')],
    ['family eq "M\\u00fcller"', family('equals', 'muller')],
    ['family eq "say \\"hi\\""', family('equals', 'say hi')],
    ["family eq 'van Dyk'", family('equals', 'van dyk')],
    ['family eq \'say "hi"\'', family('equals', 'say hi')],
    ["family eq 'O\\'Hara'", family('equals', 'ohara')],
    ["family eq 'M\\u00fcller'", family('equals', 'muller')],
    ["(family eq 'x)')", family('equals', 'x')],
    ["family eq O'Hara", family('equals', 'ohara')],
    ["gender eq 'male'", male],
    ["active eq 'true' and gender eq 'male'", and([active, male])],
    ["birthdate ge '2000-01-01'", parseFilter(R4, 'Patient', 'birthdate ge 2000-01-01')],
    ["organization eq 'Organization/1'", parseFilter(R4, 'Patient', 'organization eq Organization/1')],
    ["_id eq '1'", { kind: 'id', ids: ['1'] }],
    ['family eq a,b', family('equals', 'a b')],
    ['(family eq abc)', family('equals', 'abc')],
    ['family eq and', family('equals', 'and')],
    [
      'identifier eq http://mrn|1',
      { kind: 'match', parameter: 'identifier', test: { kind: 'token', system: 'http://mrn', code: '1' } },
    ],
  ])('%s', (text, criteria) => {
    expect(parseFilter(R4, 'Patient', text)).toEqual(criteria);
  });

  it.each([
    ['', 0, 'a search parameter'],
    ['gender', 6, 'operator'],
    ['gender eq', 9, 'a value'],
    ['gender eq ', 10, 'a value'],
    ['gender eq male and', 18, 'a search parameter'],
    ['gender eq male gender eq female', 15, '"and", "or" or the end'],
    ['(gender eq male', 15, '")"'],
    ['gender eq male)', 14, 'the end'],
    ['not gender eq male', 4, '"(" after "not"'],
    ['family eq "abc', 10, 'a closing quote'],
    ['family eq "abc"def', 15, 'after the string'],
    ['family eq "a\\qb"', 10, "JSON's escapes"],
    ["family eq 'a\\qb'", 10, "JSON's escapes"],
    ["family eq 'abc", 10, 'a closing quote'],
    ["family eq 'O'Hara'", 13, 'after the string'],
    ['general-practitioner[name eq x]', 31, '"." and a search parameter'],
    ['general-practitioner[name eq x.name eq y', 36, '"]"'],
    ['general-practitioner..name eq x', 21, 'a search parameter'],
    ['gender eq male or famly eq x', 18, 'Did you mean "family"'],
    ['gender eq male or birthdate ge x', 18, 'a date'],
    ['gender xx male', 0, 'Unknown operator "xx"'],
    ['active eq true and not (gender gt male)', 24, 'does not fit "gender" of type token'],
  ])('%j fails at offset %i', (text, offset, reason) => {
    const { code, message, details } = refusal(() => parseFilter(R4, 'Patient', text));
    expect(code).toBe('invalid');
    expect(message).toContain(reason);
    expect(message).toContain(`(at offset ${offset} of "_filter")`);
    expect(details).toMatchObject({ offset });
  });

  it.each([
    ['parentheses', '('.repeat(90_000)],
    ['balanced parentheses', `${'('.repeat(60)}gender eq male${')'.repeat(60)}`],
    ['negations', `${'not ('.repeat(60)}gender eq male${')'.repeat(60)}`],
    ['brackets', 'general-practitioner['.repeat(4_000)],
    ['alternations', Array(60).fill('gender eq male or gender eq female').join(' and ')],
    ['length', `family eq "${'a'.repeat(100_000)}"`],
    ['a long value', `family eq "${'a'.repeat(50_000)}"`],
    ['a long chain', `${'link.'.repeat(1_000)}gender eq male`],
  ])('refuses excessive %s', (_what, text) => {
    expect(refusal(() => parseFilter(R4, 'Patient', text)).code).toBe('too-costly');
  });

  it('reads long flat filters without nesting', () => {
    const text = Array(2_000).fill('gender eq male').join(' or ');
    expect(depthOf(parseFilter(R4, 'Patient', text))).toBe(2);
  });
});

describe('operators by type', () => {
  const span2020 = { kind: 'date', low: Date.parse('2020-01-01'), high: Date.parse('2021-01-01') };

  it.each<[string, string, Criteria]>([
    ['Patient', 'family eq "Müller"', family('equals', 'muller')],
    ['Patient', 'family ne "Müller"', family('not-equals', 'muller')],
    ['Patient', 'family co ül', family('contains', 'ul')],
    ['Patient', 'family sw Mü', family('starts-with', 'mu')],
    ['Patient', 'family ew er', family('ends-with', 'er')],
    [
      'Patient',
      'gender ne male',
      { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male', negated: true } },
    ],
    [
      'Patient',
      'gender ne |male',
      { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male', negated: true } },
    ],
    ['Patient', 'gender ne http://hl7.org/fhir/administrative-gender|', { kind: 'none' }],
    [
      'Observation',
      'code ne |a',
      { kind: 'match', parameter: 'code', test: { kind: 'token', noSystem: true, code: 'a', negated: true } },
    ],
    ['Patient', 'gender pr true', { kind: 'missing', parameter: 'gender', missing: false }],
    ['Patient', 'gender pr false', { kind: 'missing', parameter: 'gender', missing: true }],
    ['Patient', '_id eq 1', { kind: 'id', ids: ['1'] }],
    ['Patient', '_id ne 1', { kind: 'not', of: { kind: 'id', ids: ['1'] } }],
    ['Patient', '_id pr true', { kind: 'all' }],
    ['Patient', '_lastUpdated sa 2020', { kind: 'last-updated', test: { ...span2020, prefix: 'sa' } as never }],
    ...(['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'po'] as const).map((prefix): [string, string, Criteria] => [
      'Patient',
      `birthdate ${prefix} 2020`,
      { kind: 'match', parameter: 'birthdate', test: { ...span2020, prefix } as never },
    ]),
    [
      'RiskAssessment',
      'probability gt 0.5',
      { kind: 'match', parameter: 'probability', test: { kind: 'number', prefix: 'gt', low: 0.5, high: 0.5 } },
    ],
    [
      'RiskAssessment',
      'probability eq 0.5',
      { kind: 'match', parameter: 'probability', test: { kind: 'number', prefix: 'eq', low: 0.45, high: 0.55 } },
    ],
    [
      'Observation',
      'value-quantity le 5.4|ucum|mg',
      {
        kind: 'match',
        parameter: 'value-quantity',
        test: { kind: 'quantity', prefix: 'le', low: 5.4, high: 5.4, system: 'http://unitsofmeasure.org', code: 'mg' },
      },
    ],
    [
      'Observation',
      'code eq loinc|1234-5',
      { kind: 'match', parameter: 'code', test: { kind: 'token', system: 'http://loinc.org', code: '1234-5' } },
    ],
    [
      'Observation',
      'subject eq Patient/1',
      { kind: 'match', parameter: 'subject', test: { kind: 'reference', types: ['Patient'], id: '1' } },
    ],
    [
      'Observation',
      'subject re Patient/1',
      { kind: 'match', parameter: 'subject', test: { kind: 'reference', types: ['Patient'], id: '1' } },
    ],
    [
      'Observation',
      'patient ne 1',
      { kind: 'match', parameter: 'patient', test: { kind: 'reference', types: ['Patient'], id: '1', negated: true } },
    ],
    [
      'ValueSet',
      'url sw http://a',
      { kind: 'match', parameter: 'url', test: { kind: 'uri', comparator: 'starts-with', value: 'http://a' } },
    ],
    [
      'ValueSet',
      'url ne http://a|1',
      { kind: 'match', parameter: 'url', test: { kind: 'uri', comparator: 'not-equals', value: 'http://a|1' } },
    ],
    [
      'Observation',
      'code-value-quantity eq a$gt5',
      {
        kind: 'composite',
        parameter: 'code-value-quantity',
        tests: [
          { kind: 'token', code: 'a' },
          { kind: 'quantity', prefix: 'gt', low: 5, high: 5 },
        ],
      },
    ],
  ])('%s: %s', (type, text, criteria) => {
    expect(parseFilter(R4, type, text)).toEqual(criteria);
  });

  it.each([
    ['code in http://vs', { kind: 'value-set', url: 'http://vs' }],
    ['code ss loinc|1', { kind: 'above', system: 'http://loinc.org', code: '1' }],
    ['code sb http://loinc.org|1', { kind: 'below', system: 'http://loinc.org', code: '1' }],
  ])('%s needs the concepts of %j', (text, request) => {
    const criteria = { kind: 'match', parameter: 'code', test: { kind: 'concept', request } };
    expect(parseFilter(R4, 'Observation', text)).toEqual(criteria);
    expect(parseFilter(R4, 'Observation', `not (${text})`)).toEqual({ kind: 'not', of: criteria });
  });

  it('ni is the negation of in', () => {
    expect(parseFilter(R4, 'Observation', 'code ni http://vs')).toEqual({
      kind: 'not',
      of: parseFilter(R4, 'Observation', 'code in http://vs'),
    });
    expect(refusal(() => parseFilter(R4, 'Observation', '_id in http://vs')).code).toBe('invalid');
  });

  it.each([
    ['Patient', 'family gt m'],
    ['RiskAssessment', 'probability co 0.5'],
    ['Patient', 'birthdate co 2020-05'],
    ['Location', 'near eq 1|2'],
  ])('%s: %s is unsupported', (type, text) => {
    expect(refusal(() => parseFilter(R4, type, text)).code).toBe('unsupported');
  });

  it.each([
    ['Patient', 'family sa a'],
    ['Patient', 'birthdate sw 2020'],
    ['Patient', 'birthdate eq ge2020'],
    ['Patient', 'gender co ma'],
    ['Patient', 'gender pr maybe'],
    ['Observation', 'subject co 1'],
    ['Observation', 'value-quantity po 5'],
    ['Observation', 'code-value-quantity pr true'],
    ['Patient', 'gender:not eq male'],
    ['Patient', 'family eq ""'],
    ['ValueSet', 'url in http://vs'],
    ['Patient', 'gender constructor male'],
  ])('%s: %s is invalid', (type, text) => {
    expect(refusal(() => parseFilter(R4, type, text)).code).toBe('invalid');
  });
});

describe('paths', () => {
  it('follows chains, with the target type named or not', () => {
    const chain = { kind: 'chain', parameter: 'subject', type: 'Patient', of: family('contains', 'pet') };
    expect(parseFilter(R4, 'Observation', 'subject:Patient.family co "pet"')).toEqual(chain);
    expect(parseFilter(R4, 'Observation', 'subject.family co "pet"')).toEqual(chain);
  });

  it('follows _has', () => {
    expect(parseFilter(R4, 'Patient', 'gender eq male and _has:Observation:patient:code eq x')).toEqual(
      and([male, { kind: 'has', type: 'Observation', parameter: 'patient', of: token('code', 'x') }]),
    );
  });

  it('applies the filter in brackets and the rest of the path to the same resource', () => {
    expect(parseFilter(R4, 'Observation', 'subject[gender eq male or gender eq female].family co "pet"')).toEqual({
      kind: 'chain',
      parameter: 'subject',
      type: 'Patient',
      of: and([or([male, female]), family('contains', 'pet')]),
    });
  });

  it('parses the groups that the specification adds as composites', () => {
    expect(parseFilter(R4, 'Group', 'characteristic[code eq gender].value eq mixed')).toEqual({
      kind: 'composite',
      parameter: 'characteristic-value',
      tests: [
        { kind: 'token', code: 'gender' },
        { kind: 'token', code: 'mixed' },
      ],
    });
    expect(refusal(() => parseFilter(R4, 'Group', 'characteristic[code eq a].code eq b')).code).toBe('invalid');
    expect(refusal(() => parseFilter(R4, 'Group', 'characteristic[kind eq a].value eq b')).code).toBe('invalid');
    expect(refusal(() => parseFilter(R4, 'Group', 'characteristic[code eq a or code eq b].value eq c')).code).toBe(
      'unsupported',
    );
  });
});
