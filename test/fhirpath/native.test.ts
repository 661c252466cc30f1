import { loadFhirPath } from '../../src/fhirpath/library.js';
import { type AnyResource, FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileFhirPath, compileTypedFhirPath } from '../../src/fhirpath/compile.js';
import { compileNative } from '../../src/fhirpath/native/compile-node.js';
import { StepBudget } from '../../src/fhirpath/step-budget.js';
import { parseFhirPath } from '../../src/fhirpath/syntax-tree.js';
import { cases } from '../support/chance.js';
import { syntheaBundles } from '../support/shared.js';

await loadFhirPath();

const patient = {
  resourceType: 'Patient',
  id: 'p',
  active: true,
  gender: 'female',
  birthDate: '1980-02-03',
  multipleBirthInteger: 2,
  name: [
    { use: 'official', family: 'Kulas', given: ['Ann', 'Bea'], period: { start: '2001' } },
    { use: 'maiden', given: ['Ann'] },
  ],
  communication: [
    { language: { coding: [{ system: 'urn:ietf:bcp:47', code: 'en' }] }, preferred: false },
    { language: { text: 'Deutsch' }, preferred: true },
  ],
  extension: [
    { url: 'http://e/a', valueString: 'x' },
    { url: 'http://e/b', valueDecimal: 1.5 },
    { url: 'http://e/c', extension: [{ url: 'd', valueCode: 'y' }] },
  ],
};

describe('native evaluation', () => {
  it.each([
    ["name.where(use = 'official').given.first()", ['Ann']],
    ["name.exists(use = 'maiden')", [true]],
    ['name.count() > 1', [true]],
    ['name.given.count() >= 3 and active', [true]],
    ["gender != 'male' or birthDate.exists()", [true]],
    ['communication.where(preferred).language.text', ['Deutsch']],
    ['communication[0].preferred.not()', [true]],
    ["extension('http://e/a').value.ofType(string) = 'x'", [true]],
    ["extension('http://e/b').value.ofType(decimal) > 1", [true]],
    ["name.first().family.startsWith('Ku')", [true]],
    ['multipleBirth.exists() and multipleBirth.ofType(integer) = 2', [true]],
    ["photo.empty() implies gender = 'male'", [false]],
    ['deceased.ofType(boolean) = true', []],
    ["Patient.name.last().given = 'Ann'", [true]],
    ['name[5]', []],
    ["exists(gender = 'female')", [true]],
  ])('answers %s like the library', (expression, expected) => {
    expect(isNative(expression, 'Patient')).toBe(true);
    expect(compileNative(R4, parseFhirPath(expression), 'Patient')!(patient, new StepBudget(false))).toEqual(expected);
    expect(byLibrary(expression, 'Patient', patient)).toEqual({ values: expected });
  });

  it.each([
    'birthDate = @1980-02-03',
    'birthDate > today()',
    'name.family | name.given',
    "name.given ~ 'ann'",
    "gender in ('male' | 'female')",
    "name.family.matches('K.*')",
    "%resource.id = 'p'",
    'multipleBirth = 2',
    'foo.bar',
    "active = 'true'",
    "name.where(HumanName.use = 'official')",
  ])('leaves %s to the library', (expression) => {
    expect(isNative(expression, 'Patient')).toBe(false);
  });

  it.each([
    ['a sibling with extensions', 'birthDate.exists()', { _birthDate: { id: 'x' } }],
    ['an element of the wrong JSON type', 'name.exists()', { name: 'Ann' }],
    ['a number where a string is expected', "gender = '1'", { gender: 1 }],
    ['a null between values', 'name.given.count()', { name: [{ given: ['a', null] }] }],
    [
      'several items where one is expected',
      "name.family.startsWith('K')",
      { name: [{ family: 'K' }, { family: 'L' }] },
    ],
    ['two forms of one choice', 'multipleBirth.count()', { multipleBirthInteger: 1, multipleBirthBoolean: true }],
    ['another type', 'name.exists()', { resourceType: 'Practitioner' }],
    ['a nested resource type', 'name.exists()', { name: [{ resourceType: 'Patient' }] }],
  ])('passes %s to the library', (_, expression, body) => {
    const input = { resourceType: 'Patient', ...body };
    expect(compileNative(R4, parseFhirPath(expression), 'Patient')!(input, new StepBudget(false))).toBeUndefined();
    expect(byNative(expression, 'Patient', input)).toEqual(byLibrary(expression, 'Patient', input));
  });
});

// Decimals have eight places in FHIRPath, and binary fractions more.
it.each([
  ['value = 0.3', 0.1 + 0.2, true],
  ['value != 0.3', 0.1 + 0.2, false],
  ['value > 0.3', 0.1 + 0.2, false],
  ['value <= 0.3', 0.1 + 0.2, true],
  ['value < 0.3', 0.1 + 0.2, false],
  ['value = 0.3', 0.30000001, false],
  ['value > 0.3', 0.30000001, true],
  ['value = 0.3', 0.300000001, true],
])('%s of %d is %s, as in the library', (expression, value, expected) => {
  const quantity = { value };
  expect(isNative(expression, 'Quantity')).toBe(true);
  expect(byNative(expression, 'Quantity', quantity)).toEqual({ values: [expected] });
  expect(byLibrary(expression, 'Quantity', quantity)).toEqual({ values: [expected] });
});

describe('native evaluation equals the library', () => {
  it('for random expressions over real resources', () => {
    const resources = realResources();
    const inputs = fc
      .constantFrom(...resources)
      .chain((resource) =>
        fc.record({ resource: fc.constant(resource), expression: expressionFor(resource.resourceType, 2) }),
      );
    let native = 0;
    const runs = cases(1500, 200);
    fc.assert(
      fc.property(inputs, ({ resource, expression }) => {
        if (isNative(expression, resource.resourceType)) native += 1;
        expect(byNative(expression, resource.resourceType, resource)).toEqual(
          byLibrary(expression, resource.resourceType, resource),
        );
      }),
      { numRuns: runs },
    );
    expect(native).toBeGreaterThan(runs / 4);
  });

  it('for random expressions over random elements', () => {
    const body = fc.record(
      {
        use: fc.constantFrom('official', 'usual', 7, null),
        family: fc.constantFrom('a', 'b', '', 3),
        given: fc.array(fc.constantFrom('a', 'b', null), { maxLength: 3 }),
        _family: fc.constant({ extension: [{ url: 'urn:x', valueString: 'y' }] }),
        period: fc.record({ start: fc.constantFrom('2020', 'x') }),
        extension: fc.array(fc.record({ url: fc.constantFrom('urn:x', 'a'), valueBoolean: fc.boolean() }), {
          maxLength: 2,
        }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(body, expressionFor('HumanName', 2), (name, expression) => {
        expect(byNative(expression, 'HumanName', name)).toEqual(byLibrary(expression, 'HumanName', name));
      }),
      { numRuns: cases(1500, 200) },
    );
  });
});

interface Outcome {
  readonly values?: readonly unknown[];
  readonly error?: string;
}

function byNative(expression: string, type: string, input: unknown): Outcome {
  return outcome(() => compileFhirPath(R4, expression, type)(input));
}

function byLibrary(expression: string, type: string, input: unknown): Outcome {
  return outcome(() => compileTypedFhirPath(R4, expression, type)(input).map((item) => item.value));
}

function outcome(evaluate: () => readonly unknown[]): Outcome {
  try {
    return { values: evaluate() };
  } catch (error) {
    if (error instanceof FhirError) return { error: error.message };
    throw error;
  }
}

function isNative(expression: string, type: string): boolean {
  return compileNative(R4, parseFhirPath(expression), type) !== undefined;
}

function realResources(): AnyResource[] {
  const all = syntheaBundles(2).flatMap((bundle) => bundle.entry.map((entry) => entry.resource));
  return [...Map.groupBy(all, (resource) => resource.resourceType).values()].flatMap((some) => some.slice(0, 6));
}

/** An expression that is mostly well typed for this type. */
function expressionFor(type: string, depth: number): fc.Arbitrary<string> {
  const path = pathFor(type, depth);
  const test = path.chain(({ text, type: end }) =>
    fc.oneof(
      fc.constantFrom(`${text}.exists()`, `${text}.empty()`, `${text}.not()`, `${text}.count() > 1`, text),
      literalFor(end).chain((literal) =>
        fc.constantFrom('=', '!=', '<', '>=').map((operator) => `${text} ${operator} ${literal}`),
      ),
      literalFor(end).map((literal) => `${text}.startsWith(${literal})`),
      ...(depth === 0 || end === undefined
        ? []
        : [expressionFor(end, depth - 1).map((criteria) => `${text}.where(${criteria}).exists()`)]),
    ),
  );
  const operators = fc.constantFrom('and', 'or', 'xor', 'implies');
  return fc.oneof(
    test,
    fc.tuple(test, operators, test).map(([left, operator, right]) => `(${left}) ${operator} (${right})`),
  );
}

interface Path {
  readonly text: string;
  readonly type: string | undefined;
}

function pathFor(type: string, depth: number): fc.Arbitrary<Path> {
  const elements = [...(R4.typeDefinition(type)?.elements.values() ?? [])].filter(
    (element) => element.type !== 'Resource' && !UNREADABLE.has(element.name),
  );
  if (elements.length === 0) return fc.constant({ text: '$this', type });
  return fc.constantFrom(...elements).chain((element) => {
    const name = element.choiceOf === undefined ? quoted(element.name) : element.choiceOf;
    const paths: fc.Arbitrary<Path>[] = [
      fc.constant({ text: name, type: element.choiceOf ? undefined : element.type }),
    ];
    if (element.choiceOf !== undefined) {
      paths.push(fc.constant({ text: `${name}.ofType(${element.type})`, type: element.type }));
    }
    if (element.choiceOf === undefined && depth > 0) {
      paths.push(
        pathFor(element.type, depth - 1).map((rest) =>
          rest.text === '$this' ? { text: name, type: element.type } : { ...rest, text: `${name}.${rest.text}` },
        ),
        fc
          .constantFrom(`${name}.first()`, `${name}[0]`, `${name}.last()`)
          .map((text) => ({ text, type: element.type })),
      );
    }
    return fc.oneof(...paths);
  });
}

/** The library takes this for its function even in backquotes, and cannot parse a path through it. */
const UNREADABLE: ReadonlySet<string> = new Set(['sort']);

/** Some element names are words of the grammar. */
function quoted(name: string): string {
  return `\`${name}\``;
}

function literalFor(type: string | undefined): fc.Arbitrary<string> {
  if (type === 'boolean') return fc.constantFrom('true', 'false');
  if (type === 'decimal' || type === 'integer' || type === 'positiveInt')
    return fc.constantFrom('0', '1', '2.5', '100');
  return fc.constantFrom("'official'", "'final'", "'a'", "'1'", "''");
}
