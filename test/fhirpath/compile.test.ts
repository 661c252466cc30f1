import { loadFhirPath } from '../../src/fhirpath/library.js';
import { FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { compileFhirPath, compileTypedFhirPath, fhirpathFilter } from '../../src/fhirpath/compile.js';

await loadFhirPath();

const patient = deepFreeze({
  resourceType: 'Patient',
  id: '1',
  active: true,
  birthDate: '1970-01-01',
  _gender: { extension: [{ url: 'urn:x', valueCode: 'unknown' }] },
  name: [{ family: 'Kulas', given: ['Ann', 'Bea'], period: { start: '2020' } }, { given: ['Cleo'] }],
  communication: [
    { language: { text: 'en' }, preferred: false },
    { language: { text: 'de' }, preferred: true },
  ],
  generalPractitioner: [{ reference: 'Practitioner/7' }, { reference: 'Organization/8' }],
});

describe('compileFhirPath', () => {
  it.each([
    ['name.given', ['Ann', 'Bea', 'Cleo']],
    ['birthDate', ['1970-01-01']],
    ['name.count()', [2]],
    ['birthDate > @1960-01-01', [true]],
    ['name.period.start > @2019', [true]],
    ['gender', []],
    ['{}', []],
    ["name.given.join(', ')", ['Ann, Bea, Cleo']],
    ["iif(active, 'yes', 'no')", ['yes']],
    ["10 'mg' > 5 'mg'", [true]],
  ])('evaluates %s', (expression, expected) => {
    expect(compileFhirPath(R4, expression)(patient)).toEqual(expected);
  });

  it('returns the objects of the input themselves and changes nothing', () => {
    expect(compileFhirPath(R4, 'name')(patient)[0]).toBe(patient.name[0]);
    expect(compileFhirPath(R4, 'name.where(family.exists())', 'Patient')(patient)[0]).toBe(patient.name[0]);
  });

  it('supports the elements of types that R4 core lacks', () => {
    const membership = { resourceType: 'ProjectMembership', admin: true, profile: { reference: 'Bot/1' } };
    expect(compileFhirPath(R4, 'profile is Reference and admin')(membership)).toEqual([true]);
    expect(compileTypedFhirPath(R4, 'meta.author')({ resourceType: 'Slot', meta: { author: {} } })).toEqual([
      { type: 'Reference', value: {} },
    ]);
  });

  it('returns the types of its results', () => {
    expect(compileTypedFhirPath(R4, 'name.period | birthDate | name.count()')(patient)).toEqual([
      { type: 'Period', value: { start: '2020' } },
      { type: 'date', value: '1970-01-01' },
      { type: 'integer', value: 2 },
    ]);
  });

  it.each([
    ['HumanName', 'period.start > @2019', patient.name[0], [true]],
    ['PatientContact', "name.family = 'K'", { name: { family: 'K' } }, [true]],
    ['date', '$this > @1960-01-01', '1970-01-01', [true]],
    ['QuestionnaireItem', 'item.item.linkId', { item: [{ item: [{ linkId: 'a' }] }] }, ['a']],
    ['ObservationComponent', 'value is Quantity', { valueQuantity: { value: 1 } }, [true]],
    ['ProjectMembershipAccess', 'policy is Reference', { policy: { reference: 'AccessPolicy/1' } }, [true]],
  ])('starts from an element of type %s', (type, expression, input, expected) => {
    expect(compileFhirPath(R4, expression, type)(input)).toEqual(expected);
  });

  it('keeps an item only when the criteria are true', () => {
    expect(compileFhirPath(R4, 'communication.where(preferred).language.text')(patient)).toEqual(['de']);
    expect(compileFhirPath(R4, 'communication.first().exists(preferred)')(patient)).toEqual([false]);
    expect(compileFhirPath(R4, 'communication.select(language).where(text)')(patient)).toHaveLength(2);
  });

  it('resolves references by their text alone', () => {
    expect(compileFhirPath(R4, 'generalPractitioner.where(resolve() is Practitioner).reference')(patient)).toEqual([
      'Practitioner/7',
    ]);
    expect(compileFhirPath(R4, 'generalPractitioner.resolve().id')(patient)).toEqual(['7', '8']);
    expect(compileFhirPath(R4, "'http://127.0.0.1:1/Patient/1'.resolve()")(patient)).toEqual([]);
  });

  it('reads variables from the environment', () => {
    expect(compileFhirPath(R4, '%profile.id')(patient, { profile: { resourceType: 'Bot', id: 'b' } })).toEqual(['b']);
    expect(compileFhirPath(R4, '%before.exists()')(patient, { before: undefined })).toEqual([false]);
    expect(compileFhirPath(R4, '%resource.id & %rootResource.id')(patient)).toEqual(['11']);
    expect(compileFhirPath(R4, 'family = %resource.name.first().family', 'HumanName')(patient.name[0], { resource: patient })).toEqual([true]); // prettier-ignore
    expect(compileFhirPath(R4, '%`vs-x` | %loinc | %ucum')(patient)).toEqual([
      'http://hl7.org/fhir/ValueSet/x',
      'http://loinc.org',
      'http://unitsofmeasure.org',
    ]);
  });

  it("replaces text as specified, including '$'", () => {
    expect(compileFhirPath(R4, "'abc'.replace('b', '$&')")(patient)).toEqual(['a$&c']);
    expect(compileFhirPath(R4, "'abc'.replace('', 'x')")(patient)).toEqual(['xaxbxcx']);
    expect(compileFhirPath(R4, "'a1b2'.replaceMatches('[0-9]', '-')")(patient)).toEqual(['a-b-']);
    expect(compileFhirPath(R4, "'11/30'.replaceMatches('(\\\\d+)/(\\\\d+)', '$2-$1')")(patient)).toEqual(['30-11']);
  });

  it.each([
    ["'Ann'.matches('^A')", [true]],
    ["'Ann'.matches('a')", [false]],
    ["'Ann'.matches('a', 'i')", [true]],
    ["'Ann'.matchesFull('A')", [false]],
    ["'Ann'.matchesFull('A.n')", [true]],
    ["'a\\nb'.matches('a.b')", [true]],
    ["gender.matches('x')", []],
  ])('matches patterns: %s', (expression, expected) => {
    expect(compileFhirPath(R4, expression)(patient)).toEqual(expected);
  });
});

describe('a refused expression', () => {
  it.each([
    ['name.where(', 'invalid', 'line 1, column 12'],
    ['name family', 'invalid', "extraneous input 'family'"],
    ['', 'invalid', 'line 1'],
    ['name.foo()', 'invalid', 'Unknown FHIRPath function: foo()'],
    ['name.exists(a, b)', 'invalid', 'takes 0 to 1 parameters, not 2'],
    ['name.count(1)', 'invalid', 'takes 0 parameters, not 1'],
    ['name is Foo', 'invalid', 'Unknown type in a FHIRPath expression: Foo'],
    ['name.ofType(System.HumanName)', 'invalid', 'Unknown type'],
    ['name.constructor', 'invalid', 'No FHIR element has the name "constructor"'],
    ['Patient.`__proto__`', 'invalid', 'No FHIR element has the name "__proto__"'],
    ['Patient.`\\u005f_proto__`', 'invalid', 'No FHIR element has the name "__proto__"'],
    ["code.memberOf('http://x')", 'unsupported', 'terminology server'],
    ["name.trace('x')", 'unsupported', 'log'],
    ['%terminologies.count()', 'unsupported', 'reach outside'],
    ['%factory.count()', 'unsupported', 'reach outside'],
    ["HumanName { family: 'x' }", 'unsupported', 'make new elements'],
    ["'x'.toString() = 'x' and (1 + 1".padEnd(5000), 'too-costly', 'at most 4096'],
    [`${'('.repeat(41)}1${')'.repeat(41)}`, 'too-costly', 'deeper than 40'],
  ])('%s', (expression, code, message) => {
    const error = failureOf(() => compileFhirPath(R4, expression));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  it('has variables without a value, including prototype names', () => {
    for (const name of ['x', 'constructor', '__proto__']) {
      const error = failureOf(() => compileFhirPath(R4, `%${name}`)(patient));
      expect(error).toMatchObject({ code: 'invalid', message: `Unknown FHIRPath variable: %${name}` });
    }
  });

  it('keeps the message of the parser in a syntax error, not the parser', () => {
    const { cause } = failureOf(() => compileFhirPath(R4, 'name.where(', 'Patient')) as { cause?: unknown };
    expect(inspect(cause, { depth: 9 })).toMatch(/^Error: line: 1; column: 11; message: /);
    expect(inspect(cause, { depth: 9 }).length).toBeLessThan(5000);
  });

  it('has a type that FHIR does not have', () => {
    expect(failureOf(() => compileFhirPath(R4, 'a', 'Foo')).code).toBe('invalid');
    expect(failureOf(() => compileFhirPath(R4, 'a', '__proto__')).code).toBe('invalid');
  });

  it('is not refused for brackets inside of strings, which do not count as nesting', () => {
    expect(compileFhirPath(R4, `'${'('.repeat(100)}'.length()`)(patient)).toEqual([100]);
  });
});

describe('an expression that fails on the data', () => {
  it.each([
    'name.given.startsWith(1)',
    'name.given.startsWith(%resource.name.given)',
    'name > 1',
    "birthDate + 1 'kg'",
  ])('%s: reports it without any of the data', (expression) => {
    const error = failureOf(() => compileFhirPath(R4, expression)(patient));
    expect(error.code).toBe('invalid');
    expect(error.message).toContain('does not fit the data');
    expect(JSON.stringify(error.outcome)).not.toMatch(/Ann|Kulas|1970/);
  });

  it.each([
    '1.repeat($this + 1)',
    "'x'.repeat($this + 'x')",
    '%big.select($this.select(%big.select($this)))',
    '%big.isDistinct()',
    `'aaaaaaaaaaaaaaaa'${".replace('a', 'aaaaaaaaaaaaaaaa')".repeat(12)}`,
    `%big${'.combine($this)'.repeat(30)}`,
  ])('%s: ends', (expression) => {
    const big = Array.from({ length: 20_000 }, (_, index) => index);
    const error = failureOf(() => compileFhirPath(R4, expression)(patient, { big }));
    expect(error.code).toBe('too-costly');
  });

  it('does not hang on hostile patterns', () => {
    const text = 'a'.repeat(50_000);
    expect(compileFhirPath(R4, "$this.matches('^(a+)+$')", 'string')(`${text}!`)).toEqual([false]);
    expect(compileFhirPath(R4, "$this.matches('(.*)*x')", 'string')(text)).toEqual([false]);
    expect(failureOf(() => compileFhirPath(R4, "$this.matches('(a)\\\\1')", 'string')(text)).message).toContain(
      'back references',
    );
    expect(failureOf(() => compileFhirPath(R4, "$this.matches('(((a{100}){100}){100})')", 'string')(text)).code).toBe(
      'invalid',
    );
    expect(failureOf(() => compileFhirPath(R4, "$this.matches('[')", 'string')(text)).code).toBe('invalid');
  });

  it('writes nothing to the console and does not change prototypes', () => {
    const spies = (['log', 'warn', 'error'] as const).map((method) => vi.spyOn(console, method));
    compileFhirPath(R4, "name.select($this).where(family = 'x').exists()")(patient);
    expect(() => compileFhirPath(R4, "name.where(family.foo.bar = 1).exists('a')")(patient)).not.toThrow();
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('__path__');
  });
});

describe('fhirpathFilter', () => {
  it('keeps an item only if the result is exactly true', () => {
    const keeps = (expression: string): boolean =>
      fhirpathFilter(R4, expression, 'HumanName')(patient.name[0], { resource: patient });
    expect(keeps("family = 'Kulas'")).toBe(true);
    expect(keeps("family = 'Smith'")).toBe(false);
    expect(keeps('family')).toBe(false);
    expect(keeps('{}')).toBe(false);
    expect(keeps('given.exists().combine(true)')).toBe(false);
    expect(keeps('%resource.active')).toBe(true);
  });
});

function failureOf(run: () => unknown): FhirError {
  try {
    run();
  } catch (error) {
    if (error instanceof FhirError) return error;
    throw error;
  }
  throw new Error('It did not fail');
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
