import { type Criteria, R4 } from '../../src/store.js';
import { expect, test } from 'vitest';
import { ALL, and, NONE, not, or } from '../../src/search/criteria/criteria.js';
import { describeCriteria } from '../../src/search/criteria/describe-criteria.js';
import { parseFilter } from '../../src/search/parse/filter/parse-filter.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';

test.each([
  ['Patient', '_id=1,2', '_id = 1, 2'],
  ['Patient', 'gender=male', 'gender = male'],
  ['Patient', 'gender:not=male', 'not gender = male'],
  ['Patient', 'identifier=http://a|1', 'identifier = http://a|1'],
  ['Patient', 'identifier=|1', 'identifier = |1'],
  ['Patient', 'identifier=http://a|', 'identifier = http://a|'],
  ['Patient', 'family=Kül', 'family starts with "kul"'],
  ['Patient', 'family:exact=Kül', 'family is exactly "Kül"'],
  ['Patient', 'family:contains=ul', 'family contains "ul"'],
  ['Patient', 'birthdate=1980-05', 'birthdate eq 1980-05-01 to 1980-06-01'],
  [
    'Patient',
    '_lastUpdated=ge2020-01-01T10:00:00Z',
    '_lastUpdated ge 2020-01-01T10:00:00.000Z to 2020-01-01T10:00:01.000Z',
  ],
  ['Patient', 'address:missing=true', 'address is missing'],
  ['Patient', 'address:missing=false', 'address is present'],
  ['RiskAssessment', 'probability=gt0.8', 'probability gt 0.8'],
  ['Observation', 'value-quantity=5', 'value-quantity eq 4.5 to 5.5'],
  [
    'Observation',
    'value-quantity=gt5|http://unitsofmeasure.org|mg',
    'value-quantity gt 5 http://unitsofmeasure.org|mg',
  ],
  ['Observation', 'value-quantity=lt5||mg', 'value-quantity lt 5 mg'],
  ['Observation', 'code:text=pulse', 'code has the text "pulse"'],
  ['Observation', 'subject=Patient/1', 'subject = Patient/1'],
  ['Observation', 'subject=http://a/Patient/1', 'subject = http://a/Patient/1'],
  ['Observation', 'subject:Patient.gender=male', 'subject leads to Patient where (gender = male)'],
  ['Observation', 'code-value-quantity=8480-6$gt5', 'code-value-quantity (= 8480-6 with gt 5)'],
  ['Patient', '_has:Observation:subject:code=x', 'subject of Observation leads here where (code = x)'],
  ['ValueSet', 'url=http://a', 'url = http://a'],
  ['ValueSet', 'url:below=http://a', 'url is below http://a'],
  ['Patient', 'gender=male&active=true,false', 'gender = male and (active = true or active = false)'],
])('%s?%s', (type, query, text) => {
  expect(describeCriteria(parseSearch(R4, type, query).criteria)).toBe(text);
});

test.each([
  ['given ne "jim"', 'given != "jim"'],
  ['gender ne male', 'gender != male'],
  ['not (gender eq male or active eq true)', 'not (gender = male or active = true)'],
])('_filter=%s', (filter, text) => {
  expect(describeCriteria(parseFilter(R4, 'Patient', filter))).toBe(text);
});

const A: Criteria = { kind: 'id', ids: ['a'] };
const B: Criteria = { kind: 'missing', parameter: 'gender', missing: true };

test('composed criteria are in parentheses inside others', () => {
  expect(describeCriteria(and([A, or([A, B])]))).toBe('_id = a and (_id = a or gender is missing)');
  expect(describeCriteria(not(and([A, B])))).toBe('not (_id = a and gender is missing)');
  expect([ALL, NONE].map((one) => describeCriteria(one))).toEqual(['everything', 'nothing']);
});

test('marks are set around the given nodes, once each', () => {
  const marked = or([A, B]);
  const mark = (node: Criteria, text: string) => (node === marked || node === B ? `<${text}>` : text);
  expect(describeCriteria(and([A, marked]), mark)).toBe('_id = a and <(_id = a or <gender is missing>)>');
  expect(describeCriteria(marked, mark)).toBe('<_id = a or <gender is missing>>');
});
