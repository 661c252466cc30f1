import { beforeAll, describe, expect, it } from 'vitest';
import { FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { compileFhirPath } from '../../src/fhirpath/compile.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';
import { Pattern } from '../../src/fhirpath/text-functions.js';

beforeAll(() => loadFhirPath());

/** Patients with long texts, many names, or large contained resources. */
const NARRATIVE = 'x'.repeat(100_000);
const names = Array.from({ length: 8000 }, (_, index) => ({
  use: 'official',
  family: `F${index}`,
  given: [`a${index}`, 'b'],
  period: { start: '2020-01-01', end: '2021-02-03T10:11:12Z' },
}));
const contained = Array.from({ length: 200 }, (_, index) => ({
  resourceType: 'Observation',
  valueQuantity: { value: index, unit: 'mg', system: 'http://unitsofmeasure.org', code: 'mg' },
  component: Array.from({ length: 60 }, (_unused, at) => ({
    code: { text: `c${at}`, coding: [{ system: 's', code: 'c', display: 'd' }] },
    valueString: at === 59 ? `v${index}` : 'x',
  })),
}));
const patient = {
  resourceType: 'Patient',
  text: { status: 'generated', div: NARRATIVE },
  name: names,
  contained,
};

describe('steps of an evaluation', () => {
  it.each([
    ["text.`div`.matches('((x{0,30}){0,30})[yz]')", 'many instructions for each character'],
    ["text.`div`.matches('[xy]*x[xy]{300}[zw]')", 'an automaton of many states'],
    ["text.`div`.replaceMatches('(x{1,20}){1,20}$[zw]', 'q').length() > 1", 'where matches with many instructions are'],
    ["text.`div`.replaceMatches('x', '$0$0$0$0$0$0$0$0$0$0').length() > 1", 'a text that grows'],
    ["text.`div`.lastIndexOf(text.`div`.substring(50000) & 'y') > 1", 'a long text at each position'],
    ["name.where('x'.matches(family & '(((x{0,10}){0,10}){0,10})')).exists()", 'a pattern for each item'],
    ['name.where(%resource.text.`div`.convertsToDateTime()).exists()', 'a long text for each item'],
    ['contained.where($this in %resource.contained).count() > 1', 'elements in a list of elements'],
    ["name.where(1 'kg.m/s2' < 1 'N').exists()", 'units for each item'],
    ["name.where('1'.toQuantity('mg') > 1 'g').exists()", 'units of texts for each item'],
    ['name.where(period.end - 1 month > now()).exists()', 'calendars for each item'],
    [
      'name.take(300).select(%resource.name.take(100).descendants().count()).sum()',
      'all inside an element for each item',
    ],
    ['name.take(600).repeat(children()).count()', 'values that are compared with all before them'],
    ['(1).repeat(iif($this > 1000, {}, $this + 1)).count()', 'numbers that are compared with all before them'],
    ["name.select(1 'mg').sum() > 1 'g'", 'a sum of units'],
    ["name.select(1 'mg').sort().count()", 'units in order'],
  ])('%s is refused: %s', (expression) => {
    expect(failureOf(expression)).toMatchObject({ code: 'too-costly', details: { max: 250_000 } });
  });

  it.each([
    ["name.where(family.matches('^F[0-9]+$')).exists()", 8000],
    ['name.where(period.start > @2019-01-01).exists()', 8000],
    ["text.`div`.matches('(diabetes|hypertension|obesity)')", 1],
    ["text.`div`.matches('[a-z]+ z')", 1],
    ["text.`div`.replaceMatches('[0-9]+', '').length() > 1", 1],
    ["name.where(use = 'official' and given.count() > 1).exists()", 8000],
    ['contained.isDistinct()', 200],
    ['contained.repeat(component).count()', 200],
    ['name.take(50).repeat(children()).count()', 8000],
    ['(1).repeat(iif($this > 700, {}, $this + 1)).count()', 8000],
    ['name.take(2000).descendants().count()', 8000],
    ["name.where(1 'mg' = 2 'g').exists()", 8000],
    ["contained.where(value = 5 'g' or value ~ 5 'mg').exists()", 200],
    ["contained.where(value in (5 'g' | 5 'mg')).exists()", 200],
    ['contained.value.sum() = contained.value.sort().last()', 200],
    ['contained.where($this = %resource.contained.last()).exists()', 200],
  ])('%s is answered', (expression, items) => {
    const input = items === 8000 ? { ...patient, name: names.slice(0, 2000) } : patient;
    expect(() => compileFhirPath(R4, expression, 'Patient')(input)).not.toThrow();
  });

  it('a common filter counts the elements that it reads of each item', () => {
    const spent = (count: number): number => {
      let steps = 0;
      const meter = { spend: (more: number): number => (steps += more), spendExpression: () => undefined };
      compileFhirPath(R4, "name.where(use = 'official' and given.count() > 1).exists()", 'Patient')(
        { resourceType: 'Patient', name: names.slice(0, count) },
        {},
        meter,
      );
      return steps;
    };
    expect(spent(2000)).toBeGreaterThan(15 * spent(100));
  });

  it('common filters nested in each other end', () => {
    const expression = Array.from({ length: 60 }, () => "name.where(use = 'x').exists()").join(' or ');
    expect(failureOf(expression)).toMatchObject({ code: 'too-costly' });
  });

  it('a pattern finds that there is an occurrence without finding its position', () => {
    const calls: string[] = [];
    const engine = { programSize: () => 5, test: () => calls.push('test') > 0, matcher: () => calls.push('matcher') };
    const budget = { spend: () => undefined };
    new Pattern(engine as never, '.*x').occursIn('text', budget as never);
    expect(calls).toEqual(['test']);
  });
});

function failureOf(expression: string): FhirError {
  try {
    compileFhirPath(R4, expression, 'Patient')(patient, { resource: patient });
  } catch (error) {
    if (error instanceof FhirError) return error;
    throw error;
  }
  throw new Error('It did not fail');
}
