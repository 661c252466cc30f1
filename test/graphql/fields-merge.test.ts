import { R4 } from '../../src/store.js';
import fc from 'fast-check';
import { parseValue, print, visit } from 'graphql/index.js';
import { describe, expect, test } from 'vitest';
import { parse, type DocumentNode } from '../../src/graphql/graphql-js.js';
import { OverlappingFieldsCanBeMergedRule, validate } from '../../src/graphql/graphql-js-validation.js';
import { fragmentsOf } from '../../src/graphql/plan/collect-fields.js';
import { FhirSchema } from '../../src/graphql/schema/schema.js';
import { findMergeErrors } from '../../src/graphql/validation/fields-merge.js';
import { cases, SEED } from '../support/chance.js';

const schema = new FhirSchema(R4, 'standard');

function conflicts(query: string): string[] {
  const document = parse(query);
  return findMergeErrors(schema, document, fragmentsOf(document)).map(({ message }) => message);
}

describe('fields that cannot be merged', () => {
  test.each([
    ['{ Patient(id: 1) { a: id a: gender } }', '"id" and "gender" are different fields'],
    ['{ Patient(id: 1) { a: name { family } a: contact { gender } } }', '"name" and "contact" are different fields'],
    ['{ Patient(id: 1) { name(use: old) { id } name { id } } }', 'they have differing arguments'],
    ['{ Patient(id: 1) { name(use: old) { id } name(use: "old") { id } } }', 'they have differing arguments'],
    ['{ Patient(id: 1) { id } Patient(id: 2) { id } }', 'they have differing arguments'],
    ['{ Patient(id: 1) { name { a: family } name { a: text } } }', '"family" and "text" are different fields'],
    ['{ Patient(id: 1) { a: id ...f } } fragment f on Patient { a: gender }', 'are different fields'],
    [
      '{ Patient(id: 1) { ...f ...g } } fragment f on Patient { a: id } fragment g on Patient { a: gender }',
      'different',
    ],
    ['{ Patient(id: 1) { a: active a: id } }', '"active" and "id" are different fields'],
    [
      '{ ObservationList { subject { resource { a: id ... on Patient { a: gender } } } } }',
      '"id" and "gender" are different fields',
    ],
    [
      '{ ObservationList { subject { resource { ... on Patient { a: gender } ... on Group { a: quantity } } } } }',
      'they return conflicting types "String" and "Int"',
    ],
    [
      '{ ObservationList { subject { resource { ... on Patient { name { id } } ... on Group { name } } } } }',
      'they return conflicting types "[HumanName]" and "String"',
    ],
    [
      '{ ObservationList { subject { resource { ... on Patient { a: name { b: given } } ... on Group { a: code { b: text } } } } } }',
      'they return conflicting types "[HumanName]" and "CodeableConcept"',
    ],
    // Patient.photo and Group.identifier have the same shape, their contents do not.
    [
      '{ ObservationList { subject { resource { ... on Patient { a: photo { b: title } } ... on Group { a: identifier { b: period { start } } } } } } }',
      'they return conflicting types "String" and "Period"',
    ],
    [
      '{ ObservationList { subject { resource { ... on Patient { a: contact { b: name { c: family } } } ... on Group { a: identifier { b: assigner { c: identifier { id } } } } } } } }',
      'they return conflicting types "String" and "Identifier"',
    ],
    [
      '{ ObservationList { hasMember { resource { subject { a: reference } ... on Observation { subject { a: display } } } } } }',
      '"reference" and "display" are different fields',
    ],
    // A nullable string differs from a non-null string.
    [
      '{ ObservationList { subject { resource { ... on Patient { a: __typename } ... on Group { a: name } } } } }',
      'they return conflicting types "String!" and "String"',
    ],
    [
      '{ ObservationList { subject { resource { ... on Patient { a: active } ... on Group { a: __typename } } } } }',
      'they return conflicting types "Boolean" and "String!"',
    ],
    [
      '{ ObservationList { subject { resource { ... on Patient { a: __typename } ... on Group { a: identifier { id } } } } } }',
      'they return conflicting types "String!" and "[Identifier]"',
    ],
    [
      '{ ObservationList { subject { resource { ... on Patient { a: name { b: __typename } } ... on Group { a: identifier { b: id } } } } } }',
      'they return conflicting types "String!" and "String"',
    ],
    [
      '{ __schema { a: types { name } } __schema { a: directives { name } } }',
      '"types" and "directives" are different fields',
    ],
    [
      'mutation { PatientCreate(res: { active: true, gender: "male" }) { id } PatientCreate(res: { gender: "female", active: true }) { id } }',
      'they have differing arguments',
    ],
    [
      'mutation { PatientCreate(res: { name: [{ family: "a" }, { family: "b" }] }) { id } PatientCreate(res: { name: [{ family: "b" }, { family: "a" }] }) { id } }',
      'they have differing arguments',
    ],
  ])('%s', (query, reason) => {
    const found = conflicts(query);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^Fields "\w+" conflict because .*\. Use different aliases on the fields to fetch both/);
    expect(found[0]).toContain(reason);
  });
});

describe('fields that can be merged', () => {
  test.each([
    '{ Patient(id: 1) { id id name { family } name { family given } } }',
    '{ Patient(id: 1) { name(use: old, _count: 1) { id } name(_count: 1, use: old) { text } } }',
    'query($u: String) { Patient(id: 1) { name(use: $u) { id } name(use: $u) { text } } }',
    '{ ObservationList { subject { resource { ... on Patient { a: gender } ... on Group { a: type } } } } }',
    '{ ObservationList { subject { resource { ... on Patient { a: __typename } ... on Group { a: __typename } } } } }',
    `mutation {
      PatientCreate(res: { active: true, name: [{ use: "old", family: "a" }], gender: "male" }) { id }
      PatientCreate(res: { gender: "male", name: [{ family: "a", use: "old" }], active: true }) { gender }
    }`,
    '{ ObservationList { subject { resource { ... on Patient { a: active } ... on Group { a: active } } } } }',
    `{ ObservationList { subject { resource {
      ... on Patient { a: photo { b: title } } ... on Group { a: identifier { b: value } }
    } } } }`,
  ])('%s', (query) => {
    expect(conflicts(query)).toEqual([]);
  });
});

const oneOf = (...weighted: [weight: number, text: string][]): fc.Arbitrary<string> =>
  fc.oneof(...weighted.map(([weight, text]) => ({ weight, arbitrary: fc.constant(text) })));

const NAME = oneOf(
  [6, 'family'],
  [6, 'a: family'],
  [3, 'given'],
  [1, 'a: text'],
  [1, 'a: given'],
  [3, '_family { id }'],
);
const GROUP = oneOf(
  [6, 'id'],
  [6, 'a: id'],
  [6, 'active'],
  [4, 'type'],
  [1, 'a: quantity'],
  [1, 'name'],
  [2, 'b: type'],
  [2, 'b: __typename'],
  [1, '__typename'],
  // In addition to Patient.photo and Patient.contact, which have the same shape except for their contents.
  [3, 'd: identifier { e: value }'],
  [1, 'd: identifier { e: period { start } }'],
  [2, 'd: identifier { e: assigner { start: display } }'],
);
const PHOTO = oneOf(
  [3, 'd: photo { e: title }'],
  [1, 'd: photo { e: size }'],
  [2, 'd: contact { e: period { start } }'],
  [2, 'd: contact { e: name { start: given } }'],
);

/** Small documents full of repeated keys, over few types, so that some conflict and some do not. */
const { patient, resource } = fc.letrec<{ patient: string; resource: string }>((tie) => ({
  patient: fc.oneof(
    {
      weight: 6,
      arbitrary: oneOf(
        [9, 'id'],
        [9, 'a: id'],
        [6, 'active'],
        [6, 'b: birthDate'],
        [1, 'a: gender'],
        [1, 'a: active'],
        [2, 'b: __typename'],
        [3, '__typename'],
        [1, 'a: __typename'],
      ),
    },
    { weight: 2, arbitrary: oneOf([1, '...f'], [1, '...g'], [1, '...h']) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(
          oneOf([9, 'name'], [6, 'c: name'], [1, 'c: name(use: old)'], [1, 'a: name']),
          fc.array(NAME, { minLength: 1, maxLength: 3 }),
        )
        .map(([field, inner]) => `${field} { ${inner.join(' ')} }`),
    },
    { weight: 2, arbitrary: within('... on Patient {', tie('patient'), '}') },
    { weight: 2, arbitrary: within('link { other { resource {', tie('resource'), '} } }') },
  ),
  resource: fc.oneof(
    {
      weight: 4,
      arbitrary: oneOf(
        [6, 'id'],
        [6, 'a: id'],
        [1, 'a: resourceType'],
        [3, 'meta { id }'],
        [1, 'a: meta { id }'],
        [3, '__typename'],
        [1, 'a: __typename'],
      ),
    },
    { weight: 1, arbitrary: fc.constant('...r') },
    { weight: 2, arbitrary: within('... on Patient {', tie('patient'), '}') },
    { weight: 2, arbitrary: within('... on Group {', GROUP, '}') },
    {
      weight: 1,
      arbitrary: fc
        .tuple(PHOTO, GROUP)
        .map(([photo, group]) => `... on Patient { ${photo} } ... on Group { ${group} }`),
    },
  ),
}));

function within(open: string, selection: fc.Arbitrary<string>, close: string): fc.Arbitrary<string> {
  return fc
    .array(selection, { minLength: 1, maxLength: 3 })
    .map((selections) => `${open} ${selections.join(' ')} ${close}`);
}

const some = (selection: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(selection, { minLength: 1, maxLength: 3 }).map((selections) => selections.join(' '));

test('gives the same result as graphql-js for random documents', () => {
  let conflicting = 0;
  const runs = cases(400, 150);
  fc.assert(
    fc.property(
      some(patient),
      some(resource),
      some(patient),
      some(patient),
      some(resource),
      (ofPatient, ofResource, f, g, r) => {
        // `f` may open `g` and `h`, `g` may open `h`: no cycles.
        const inG = g.replaceAll('...f', 'id').replaceAll('...g', 'id').replaceAll('...r', 'id');
        const inF = f.replaceAll('...f', 'id').replaceAll('...r', 'id');
        const inR = r.replace(/\.\.\.[fghr]\b/g, 'id');
        const query = `{
          Patient(id: 1) { ${ofPatient.replaceAll('...r', 'id')} }
          ObservationList { subject { resource { ${ofResource} } } }
          f: Patient(id: 1) { ...f } g: Patient(id: 1) { ...g } h: Patient(id: 1) { ...h }
          r: ObservationList { subject { resource { ...r } } }
        }
        fragment f on Patient { ${inF} }
        fragment g on Patient { ${inG} }
        fragment h on Patient { a: id name { given } }
        fragment r on Resource { ${inR} }`;
        const document: DocumentNode = parse(query);
        const expected = validate(schema, document, [OverlappingFieldsCanBeMergedRule]).length > 0;
        if (expected) conflicting += 1;
        // In the specification `__typename` has a non-null type; in graphql-js it has no type.
        const found = conflicts(query).filter((message) => expected || !message.includes('"String!"'));
        expect(found.length > 0, query).toBe(expected);
      },
    ),
    { numRuns: runs },
  );
  // Neither verdict may be rare, or the comparison would say little.
  expect(conflicting).toBeGreaterThan(runs / 10);
  expect(conflicting).toBeLessThan((runs * 9) / 10);
});

/** Input objects, some of them equal but for the order of their keys. */
const { object: inputObject } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('"a"', '"b"', '1', '1.0', 'true', 'null', '$v', '"""a"""') },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 2 }).map((items) => `[${items.join(', ')}]`) },
    { weight: 2, arbitrary: tie('object') },
  ),
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c2', 'c10'), tie('value')), {
      minLength: 1,
      maxLength: 3,
      selector: ([name]) => name,
    })
    .map((fields) => `{ ${fields.map(([name, value]) => `${name}: ${value}`).join(', ')} }`),
}));

test('gives the same result as graphql-js for random input objects', () => {
  const same = { equal: 0, different: 0 };
  const runs = cases(200, 100);
  fc.assert(
    fc.property(fc.tuple(inputObject, inputObject, fc.boolean()), ([one, other, reversed]) => {
      const second = reversed ? reversedKeys(one) : other;
      const query = `query ($v: String) { PatientList(name: ${one}) { id } PatientList(name: ${second}) { id } }`;
      const document = parse(query);
      const expected = validate(schema, document, [OverlappingFieldsCanBeMergedRule]).length > 0;
      same[expected ? 'different' : 'equal'] += 1;
      expect(findMergeErrors(schema, document, fragmentsOf(document)).length > 0, query).toBe(expected);
    }),
    { seed: SEED, numRuns: runs },
  );
  expect(Math.min(same.equal, same.different)).toBeGreaterThan(runs / 10);
});

/** The same input object with the keys of each object in reverse order. */
function reversedKeys(text: string): string {
  const value = parseValue(text);
  return print(
    visit(value, {
      ObjectValue: { leave: (node) => ({ ...node, fields: [...node.fields].reverse() }) },
    }),
  );
}
