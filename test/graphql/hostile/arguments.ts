import { pieces, textOf, type HostileDocument } from './hostile-document.js';

/** Arguments and variables that are numerous, long, deep or disguised. */
export const HOSTILE_ARGUMENTS: readonly HostileDocument[] = [
  {
    name: 'one argument 2,000 times',
    make: textOf(() => `{ PatientList(${'name: 1 '.repeat(2000)}) { id } }`),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: '2,000 unknown arguments',
    make: textOf(() => `{ PatientList(${pieces(2000, (index) => `nmae${index}: 1`)}) { id } }`),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: '9,000 values in a list',
    make: textOf(() => `{ PatientList(name: [${pieces(9000, (index) => `"a${index}"`)}]) { id } }`),
    outcome: 'too-costly',
    parsed: true,
  },
  {
    name: '95,000 values by comma',
    make: textOf(() => `{ PatientList(name: "${'a,'.repeat(95_000)}") { id } }`),
    outcome: 'too-costly',
  },
  {
    name: '450 searches of 9 values',
    make: textOf(
      () =>
        `{ ${pieces(450, (index) => `a${index}: PatientList(name: ["a", "b", "c", "d", "e", "f", "g", "h", "i"]) { id }`)} }`,
    ),
    outcome: 'too-costly',
  },
  {
    name: 'a list of lists of lists',
    make: textOf(() => `{ PatientList(name: [[["a"]], [["b"]]]) { id } }`),
    outcome: 'invalid',
  },
  {
    name: 'a value of 190,000 backslashes',
    make: textOf(() => `{ PatientList(name: "${'\\\\'.repeat(95_000)}") { id } }`),
    outcome: 'too-costly',
  },
  {
    name: 'a name of 9,000 accents',
    make: textOf(() => `{ PatientList(name: "a${'\u0301'.repeat(9000)}") { id } }`),
    outcome: 'answered',
  },
  {
    name: 'a date of 190,000 digits',
    make: textOf(() => `{ PatientList(birthdate: "${'1'.repeat(190_000)}") { id } }`),
    outcome: 'too-costly',
  },
  {
    name: 'a date of 9,000 dashes',
    make: textOf(() => `{ PatientList(birthdate: "${'2-'.repeat(4500)}") { id } }`),
    outcome: 'invalid',
  },
  {
    name: 'a quantity with an exponent of nine digits',
    make: textOf(() => `{ ObservationList(value_quantity: "1e999999999") { id } }`),
    outcome: 'invalid',
  },
  {
    name: 'a quantity with a negative exponent of nine digits',
    make: textOf(() => `{ ObservationList(value_quantity: "1e-999999999") { id } }`),
    outcome: 'invalid',
  },
  {
    name: 'a quantity of 9,000 digits',
    make: textOf(() => `{ ObservationList(value_quantity: "0.${'1'.repeat(9000)}") { id } }`),
    outcome: 'invalid',
  },
  {
    name: 'a page of a billion',
    make: textOf(() => '{ PatientList(_count: 1000000000) { id } }'),
    outcome: 'too-costly',
    limit: 'listSize',
  },
  {
    name: 'a page that begins at 2^31 - 1',
    make: textOf(() => '{ PatientList(_offset: 2147483647) { id } }'),
    outcome: 'answered',
  },
  { name: 'a negative page', make: textOf(() => '{ PatientList(_count: -1) { id } }'), outcome: 'invalid' },
  {
    name: 'a sort by 9,000 keys',
    make: textOf(() => `{ PatientList(_sort: [${'"name" '.repeat(9000)}]) { id } }`),
    outcome: 'answered',
  },
  {
    name: 'a sort by 40,000 keys by comma',
    make: textOf(() => `{ PatientList(_sort: "${'name,'.repeat(38_000)}name") { id } }`),
    outcome: 'answered',
  },
  {
    name: '95,000 parentheses in _filter',
    make: textOf(() => `{ PatientList(_filter: "${'('.repeat(95_000)}") { id } }`),
    outcome: 'too-costly',
  },
  {
    name: '20,000 negations in _filter',
    make: textOf(() => `{ PatientList(_filter: "${'not ('.repeat(19_000)}name eq a${')'.repeat(19_000)}") { id } }`),
    outcome: 'too-costly',
  },
  {
    name: '7,000 alternatives in _filter',
    make: textOf(() => `{ PatientList(_filter: "${'name co a or '.repeat(7000)}name co b") { id } }`),
    outcome: 'answered',
  },
  {
    name: '3,000 alternatives in _filter that nobody matches',
    make: textOf(
      () => `{ PatientList(_filter: "${pieces(3000, (index) => `name co q${index} or`)} name co q") { id } }`,
    ),
    outcome: 'answered',
  },
  {
    name: '5,600 alternatives in _filter that nobody matches',
    make: textOf(
      () => `{ PatientList(_filter: "${pieces(5600, (index) => `name co q${index} or`)} name co q") { id } }`,
    ),
    outcome: 'too-costly',
  },
  {
    name: '50 filters of 99,000 characters in a variable',
    make: () => ({
      query: 'query($f: [String]) { PatientList(_filter: $f) { id } }',
      variables: { f: new Array<string>(49).fill(`${'name co a or '.repeat(7600)}name co b`) },
    }),
    outcome: 'too-costly',
  },
  {
    name: '900 filters of 12 comparisons',
    make: textOf(
      () => `{ PatientList(_filter: [${pieces(900, () => `"${'name co a and '.repeat(11)}name co b"`)}]) { id } }`,
    ),
    outcome: 'too-costly',
  },
  {
    name: 'a chain of 40 steps in _filter',
    make: textOf(() => `{ ObservationList(_filter: "${'subject:Patient.link:Patient.'.repeat(20)}name eq a") { id } }`),
    outcome: 'too-costly',
  },
  {
    name: 'chains without a type in _filter',
    make: textOf(
      () =>
        `{ ObservationList(_filter: "${pieces(200, () => 'subject.organization.partof.partof.partof.name eq a or')} name eq a") { id } }`,
    ),
    outcome: 'invalid',
  },
  {
    name: 'a cursor of 190,000 letters',
    make: textOf(() => `{ PatientConnection(cursor: "${'A'.repeat(190_000)}") { count } }`),
    outcome: 'invalid',
  },
  {
    name: 'a cursor of 99,000 letters',
    make: textOf(() => `{ PatientConnection(cursor: "${'A'.repeat(98_000)}.${'A'.repeat(22)}") { count } }`),
    outcome: 'invalid',
  },
  {
    name: 'a chain in the name of a variable parameter',
    make: () => ({
      query: 'query($r: String) { Patient(id: 1) { ObservationList(_reference: $r) { id } } }',
      variables: { r: `${'subject.'.repeat(20_000)}name` },
    }),
    outcome: 'invalid',
  },

  {
    name: '2,400 variables',
    make: textOf(() => `query(${pieces(2400, (index) => `$v${index}: Int`)}) { PatientList(_count: 1) { id } }`),
    outcome: 'invalid',
  },
  {
    name: '1,900 variables of one name',
    make: textOf(() => `query(${'$v: Int '.repeat(1900)}) { PatientList(_count: $v) { id } }`),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: '100,000 ids in a variable',
    make: () => ({
      query: 'query($ids: [String]) { PatientList(_id: $ids) { id } }',
      variables: { ids: Array.from({ length: 100_000 }, (_, index) => `p${index}`) },
    }),
    outcome: 'too-costly',
  },
  {
    name: 'a million values in a variable',
    make: () => ({
      query: 'query($ids: [String]) { PatientList(_id: $ids) { id } }',
      variables: { ids: new Array<string>(1_000_000).fill('a') },
    }),
    outcome: 'too-costly',
  },
  {
    name: '100,000 values in a variable, all of them null',
    make: () => ({
      query: 'query($ids: [String]) { PatientList(_id: $ids) { id } }',
      variables: { ids: new Array<null>(100_000).fill(null) },
    }),
    outcome: 'too-costly',
  },
  {
    name: '100,000 numbers where texts are meant',
    make: () => ({
      query: 'query($ids: [String]) { PatientList(_id: $ids) { id } }',
      variables: { ids: new Array<number>(100_000).fill(1) },
    }),
    outcome: 'too-costly',
  },
  {
    name: 'a text of 10 MB in a variable',
    make: () => ({
      query: 'query($name: String) { PatientList(name: $name) { id } }',
      variables: { name: 'x'.repeat(10_000_000) },
    }),
    outcome: 'too-costly',
  },
  {
    name: 'a text of 10 MB in a variable of another type',
    make: () => ({
      query: 'query($c: Int) { PatientList(_count: $c) { id } }',
      variables: { c: 'x'.repeat(10_000_000) },
    }),
    outcome: 'too-costly',
  },
  {
    name: 'a variable nested 100,000 levels',
    make: () => ({
      query: 'query($name: String) { PatientList(name: $name) { id } }',
      variables: { name: deep(100_000) },
    }),
    outcome: 'too-costly',
  },
  {
    name: 'a nested variable that nobody asked for',
    make: () => ({ query: '{ PatientList(_count: 1) { id } }', variables: { name: deep(100_000) } }),
    outcome: 'too-costly',
  },
  {
    name: '200,000 variables that nobody asked for',
    make: () => ({
      query: '{ PatientList(_count: 1) { id } }',
      variables: Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`v${index}`, index])),
    }),
    outcome: 'too-costly',
  },
  {
    name: 'variables named like what objects inherit',
    make: () => ({
      query:
        'query($constructor: String, $toString: Int) { PatientList(name: $constructor, _count: $toString) { id } }',
      variables: JSON.parse('{"__proto__": {"constructor": "a"}}') as { [name: string]: unknown },
    }),
    outcome: 'answered',
  },
  {
    name: 'an object whose every level is the one above',
    make: () => {
      const ring: { [name: string]: unknown } = {};
      ring.a = ring;
      return { query: 'query($name: String) { PatientList(name: $name) { id } }', variables: { name: ring } };
    },
    outcome: 'too-costly',
  },

  {
    name: 'a focus of 1 MB',
    make: () => ({ query: '{ id }', context: { focus: `Patient/${'1'.repeat(1_000_000)}` } }),
    outcome: 'invalid',
  },
  {
    name: 'a focus with 100,000 slashes',
    make: () => ({ query: '{ id }', context: { focus: 'Patient/1/'.repeat(100_000) } }),
    outcome: 'invalid',
  },
  {
    name: 'an operation name of 1 MB',
    make: () => ({
      query: 'query a { PatientList(_count: 1) { id } }',
      context: { operationName: 'b'.repeat(1_000_000) },
    }),
    outcome: 'invalid',
  },
];

function deep(levels: number): unknown {
  let value: unknown = 'a';
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}
