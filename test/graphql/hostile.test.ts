import { beforeAll, describe, expect, test } from 'vitest';
import { failures, openClinic, type Clinic } from './harness.js';

let clinic: Clinic;
beforeAll(async () => {
  clinic = await openClinic([
    { resourceType: 'Patient', id: '1', active: true, name: [{ family: 'A' }], extension: [{ url: 'urn:x' }] },
  ]);
});

function repeat(count: number, write: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => write(index)).join(' ');
}

/** Fragments `f0` … of a type, each opening the next in the way given; the last selects `id`. */
function chain(type: string, length: number, open: (next: string) => string): string {
  const fragments = repeat(length, (index) => `fragment f${index} on ${type} { ${open(`...f${index + 1}`)} }`);
  return `${fragments} fragment f${length} on ${type} { id }`;
}

describe('documents that are too large are refused before they are processed', () => {
  test.each([
    ['10 MB of text', 'x'.repeat(10_000_000), 'too-costly'],
    ['10 MB of white space', ' '.repeat(10_000_000), 'invalid'],
    ['100,000 braces', '{'.repeat(100_000), 'invalid'],
    ['100,000 nested selections', '{a'.repeat(100_000), 'too-costly'],
    ['100,000 brackets', `{ PatientList(name: ${'['.repeat(100_000)}`, 'too-costly'],
    ['1,500 nested lists', `{ PatientList(name: ${'['.repeat(1500)}1${']'.repeat(1500)}) { id } }`, 'too-costly'],
    ['2,000 nested objects', `{ PatientList(name: ${'{a:'.repeat(2000)}1${'}'.repeat(2000)}) { id } }`, 'too-costly'],
    [
      '3,000 nested list types',
      `query($a: ${'['.repeat(3000)}Int${']'.repeat(3000)}) { PatientList(name: $a) { id } }`,
      'too-costly',
    ],
    ['1,600 root fields', `{ ${repeat(1600, (index) => `a${index}: PatientList { id }`)} }`, 'too-costly'],
    ['more directives than tokens', `{ Patient(id: 1) { id ${'@skip(if: false) '.repeat(1600)} } }`, 'too-costly'],
  ])('%s', async (_, query, code) => {
    const result = await clinic.ask(query);
    expect(failures(result).map((failure) => failure.split(' ')[0])).toEqual([code]);
    expect(result).not.toHaveProperty('data');
  });
});

describe('fragments cannot make a small document expand to a huge one', () => {
  test('two aliases per level, 24 levels', async () => {
    const query = `{ Patient(id: 1) { a: extension { ...f0 } } } ${chain('Extension', 24, (next) => `a: extension { ${next} } b: extension { ${next} }`)}`;
    expect(failures(await clinic.ask(query))).toEqual(['too-costly']);
  });

  test('the same field twice per level, 24 levels, is one field per level', async () => {
    const query = `{ Patient(id: 1) { extension { ...f0 } } } ${chain('Extension', 24, (next) => `extension { ${next} } extension { ${next} }`)}`;
    expect((await clinic.ask(query)).data).toEqual({ Patient: { extension: [{ extension: null }] } });
  });

  test('a fragment of thousands of fields under hundreds of aliases', async () => {
    const query = `{ Patient(id: 1) { ${repeat(100, (index) => `a${index}: extension { ...wide }`)} } } fragment wide on Extension { ${repeat(2800, (index) => `b${index}: id`)} }`;
    expect(failures(await clinic.ask(query))).toEqual(['too-costly']);
  });

  test('hundreds of operations that each open hundreds of fragments', async () => {
    const query = `${repeat(700, (index) => `query q${index} { ...f0 }`)} ${chain('Query', 600, (next) => next).replace('{ id }', '{ PatientList { id } }')}`;
    expect(failures(await clinic.ask(query, {}, { operationName: 'q1' }))).toEqual(['too-costly']);
  });

  test.each([
    ['one that opens itself', '{ ...f } fragment f on Query { ...f }'],
    [
      '1,200 in a ring',
      `{ ...f0 } ${repeat(1200, (index) => `fragment f${index} on Query { ...f${(index + 1) % 1200} }`)}`,
    ],
    [
      'through a field',
      '{ Patient(id: 1) { ...f } } fragment f on Patient { link { other { resource { ... on Patient { ...f } } } } }',
    ],
    [
      'many rings at once',
      `{ ...f0 } ${repeat(90, (index) => `fragment f${index} on Query { ${repeat(30, (other) => `...f${(index * 7 + other * 13) % 90}`)} }`)}`,
    ],
  ])('cyclic fragments: %s', async (_, query) => {
    const result = await clinic.ask(query);
    expect(failures(result)[0]).toMatch(/^invalid \(/);
    expect(result.errors![0]!.message).toMatch(/^Cannot spread fragment "\w+" within itself/);
  });
});

describe('fields that overlap by the thousand are merged', () => {
  test.each([
    ['searches', `{ ${'a: PatientList { id } '.repeat(1650)} }`, { a: [{ id: '1' }] }],
    ['leaves', `{ Patient(id: 1) { ${'id '.repeat(9900)} } }`, { Patient: { id: '1' } }],
    ['objects', `{ Patient(id: 1) { ${'name { family } '.repeat(2400)} } }`, { Patient: { name: [{ family: 'A' }] } }],
    [
      'wide objects',
      `{ Patient(id: 1) { ${`name { ${'family '.repeat(95)} } `.repeat(95)} } }`,
      { Patient: { name: [{ family: 'A' }] } },
    ],
    ['inline fragments', `{ Patient(id: 1) { ${'... on Patient { id } '.repeat(1600)} } }`, { Patient: { id: '1' } }],
    [
      'fragments',
      `{ Patient(id: 1) { ${repeat(900, (index) => `...f${index}`)} } } ${repeat(900, (index) => `fragment f${index} on Patient { id }`)}`,
      { Patient: { id: '1' } },
    ],
  ])('%s', async (_, query, data) => {
    expect(await clinic.data(query)).toEqual(data);
  });
});

describe('in dialect hl7 they are collated, within the limits', () => {
  const hl7 = { dialect: 'hl7' } as const;

  test('leaves are collated', async () => {
    const result = await clinic.ask(`{ Patient(id: 1) { ${'id '.repeat(9900)} } }`, {}, hl7);
    expect(result).toEqual({ data: { Patient: { id: Array.from({ length: 9900 }, () => '1') } } });
  });

  test.each([
    ['searches', `{ ${'a: PatientList { id } '.repeat(1650)} }`],
    [
      'the same field twice per level, 24 levels',
      `{ Patient(id: 1) { extension { ...f0 } } } ${chain('Extension', 24, (next) => `extension { ${next} } extension { ${next} }`)}`,
    ],
    [
      'a fragment of thousands of equal fields under dozens of aliases',
      `{ Patient(id: 1) { ${repeat(90, (index) => `a${index}: extension { ...f }`)} } } fragment f on Extension { ${'id '.repeat(8000)} }`,
    ],
  ])('%s', async (_, query) => {
    expect(failures(await clinic.ask(query, {}, hl7))).toEqual(['too-costly']);
  });
});

describe('names with a meaning in JavaScript have no meaning here', () => {
  test.each([
    ['a field', '{ PatientList { __proto__ } }', 'Cannot query field "__proto__" on type "Patient".'],
    ['a root field', '{ constructor { id } }', 'Cannot query field "constructor" on type "Query".'],
    [
      'a field of a reference',
      '{ ObservationList { subject { resource { constructor } } } }',
      'Cannot query field "con',
    ],
    [
      'an argument',
      '{ PatientList(__proto__: 1) { id } }',
      'Unknown argument "__proto__" on field "Query.PatientList"',
    ],
    ['an element argument', '{ PatientList { name(constructor: 1) { id } } }', 'Unknown argument "constructor" on'],
    ['a type', '{ ... on constructor { id } }', 'Unknown type "constructor".'],
    ['a type of a variable', 'query($a: __proto__) { PatientList(name: $a) { id } }', 'Unknown type "__proto__".'],
    ['a fragment without definition', '{ ...constructor }', 'Unknown fragment "constructor".'],
    ['a directive', '{ PatientList @constructor { id } }', 'Unknown directive "@constructor".'],
    [
      'a parameter that points back',
      '{ Patient(id: 1) { ObservationList(_reference: constructor) { id } } }',
      '"constru',
    ],
    ['a type of a reference', '{ ObservationList { subject { resource(type: __proto__) { id } } } }', '"__proto__" is'],
  ])('%s is unknown', async (_, query, message) => {
    const result = await clinic.ask(query);
    expect(result.data).toBeUndefined();
    expect(result.errors!.map((error) => error.message.slice(0, message.length))).toContain(message);
  });

  test('aliases, fragments and operations can have the name constructor', async () => {
    const query =
      'query constructor { constructor: PatientList { ...toString } } fragment toString on Patient { valueOf: id }';
    expect(await clinic.data(query, {}, { operationName: 'constructor' })).toEqual({ constructor: [{ valueOf: '1' }] });
  });

  test('variables without a value stay without a value', async () => {
    const query = `query($constructor: String, $toString: Int, $valueOf: String) {
      a: PatientList(name: $valueOf) { name(family: $constructor) { family } }
      b: PatientList(name: $constructor, _count: $toString) { id }
    }`;
    expect(await clinic.data(query)).toEqual({ a: [{ name: [{ family: 'A' }] }], b: [{ id: '1' }] });
  });

  test('variables of such names have their given values', async () => {
    const query = 'query($constructor: String) { PatientList(name: $constructor) { id } }';
    expect(await clinic.data(query, { constructor: 'A' })).toEqual({ PatientList: [{ id: '1' }] });
    expect(await clinic.data(query, { constructor: 'B' })).toEqual({ PatientList: [] });
  });

  test('only __proto__ is refused as the name of a variable', async () => {
    const query = 'query($__proto__: String) { PatientList(name: $__proto__) { id } }';
    const result = await clinic.ask(query, JSON.parse('{ "__proto__": "B" }') as Record<string, unknown>);
    expect(failures(result)).toEqual(['invalid (1:7)']);
  });

  test('the prototype of all objects is unchanged', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as { id?: unknown }).id).toBeUndefined();
  });
});

describe('errors do not repeat the whole input', () => {
  test.each([
    ['a long field name', `{ ${'a'.repeat(190_000)} }`],
    ['many long field names', `{ PatientList { ${repeat(20, (index) => `b${index}${'a'.repeat(9000)}`)} } }`],
    ['a variable defined a thousand times', `query(${'$v: Int '.repeat(1900)}) { PatientList(_count: $v) { id } }`],
    ['a long string', `{ PatientList(name: "${'a'.repeat(190_000)}") { id } }`],
    [
      'a long fragment ring',
      `{ ...f0 } ${repeat(900, (index) => `fragment f${index} on Query { ...f${(index + 1) % 900} }`)}`,
    ],
  ])('%s', async (_, query) => {
    const result = await clinic.ask(query);
    expect(result.errors!.length).toBeGreaterThan(0);
    expect(JSON.stringify(result).length).toBeLessThan(60_000);
    for (const { message, locations } of result.errors!) {
      expect(message.length).toBeLessThanOrEqual(500);
      expect(locations?.length ?? 0).toBeLessThanOrEqual(20);
    }
  });

  test('a long value of a variable', async () => {
    const result = await clinic.ask('query($c: Int) { PatientList(_count: $c) { id } }', { c: 'x'.repeat(1_000_000) });
    expect(failures(result)).toEqual(['invalid (1:7)']);
    expect(result.errors![0]!.message.length).toBeLessThanOrEqual(500);
  });
});

describe('arguments that grow without bound are refused at their position', () => {
  test.each([
    ['9,000 values', `{ PatientList(name: [${repeat(9000, (index) => `"a${index}"`)}]) { id } }`],
    ['95,000 values by comma', `{ PatientList(name: "${'a,'.repeat(95_000)}") { id } }`],
    ['95,000 parentheses in _filter', `{ PatientList(_filter: "${'('.repeat(95_000)}") { id } }`],
    ['95,000 parentheses in fhirpath', `{ PatientList(fhirpath: "${'('.repeat(95_000)}") { id } }`],
    ['a sum of 95,000 in fhirpath', `{ PatientList(fhirpath: "${'1+'.repeat(95_000)}1") { id } }`],
  ])('%s', async (_, query) => {
    const result = await clinic.ask(query);
    expect(failures(result)).toEqual(['too-costly at PatientList (1:3)']);
    expect(result.data).toEqual({ PatientList: null });
  });
});

test('contained resources that refer to one another do not multiply without end', async () => {
  const contained = Array.from({ length: 10 }, (_, index) => ({
    resourceType: 'Condition',
    id: `c${index}`,
    subject: { reference: '#' },
  }));
  const { ask } = await openClinic([{ resourceType: 'Patient', id: '2', contained }]);
  let selection = 'id';
  for (let level = 0; level < 8; level += 1) {
    selection = `contained { ... on Condition { subject { resource { ... on Patient { ${selection} } } } } }`;
  }
  expect(failures(await ask(`{ Patient(id: 2) { ${selection} } }`))).toEqual(['too-costly']);
});
