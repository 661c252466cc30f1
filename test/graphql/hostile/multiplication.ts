import { R4 } from '../../../src/store.js';
import { chain, nested, pieces, textOf, type HostileDocument } from './hostile-document.js';

/** Small documents that expand to huge ones: aliases, fragments, directives, lists inside lists. */
export const HOSTILE_MULTIPLICATIONS: readonly HostileDocument[] = [
  {
    name: '1,600 searches under aliases',
    make: textOf(() => `{ ${pieces(1600, (index) => `a${index}: PatientList { id }`)} }`),
    outcome: 'too-costly',
    parsed: true,
  },
  {
    name: '900 reads of one patient under aliases',
    make: textOf(() => `{ ${pieces(900, (index) => `a${index}: Patient(id: 1) { id }`)} }`),
    outcome: 'answered',
  },
  {
    name: '190 unbounded searches under aliases',
    make: textOf(() => `{ ${pieces(190, (index) => `a${index}: PatientList { id name { family } }`)} }`),
    outcome: 'answered',
  },
  {
    name: '3,200 aliases of a leaf',
    make: textOf(() => `{ Patient(id: 1) { ${pieces(3200, (index) => `a${index}: id`)} } }`),
    outcome: 'answered',
    parsed: true,
  },
  {
    name: 'two aliases per level, 24 levels, through fragments',
    make: textOf(
      () =>
        `{ Patient(id: 1) { a: extension { ...f0 } } } ${chain('Extension', 24, (next) => `a: extension { ${next} } b: extension { ${next} }`)}`,
    ),
    outcome: 'too-costly',
    limit: 'fields',
    parsed: true,
  },
  {
    name: 'the same field twice per level, 24 levels, through fragments',
    make: textOf(
      () =>
        `{ Patient(id: 1) { extension { ...f0 } } } ${chain('Extension', 24, (next) => `extension { ${next} } extension { ${next} }`)}`,
    ),
    outcome: 'answered',
    hl7: 'too-costly',
  },
  {
    name: 'a fragment of 2,800 fields under 100 aliases',
    make: textOf(
      () =>
        `{ Patient(id: 1) { ${pieces(100, (index) => `a${index}: extension { ...wide }`)} } } fragment wide on Extension { ${pieces(2800, (index) => `b${index}: id`)} }`,
    ),
    outcome: 'too-costly',
    limit: 'fields',
  },
  {
    name: 'one fragment spread 4,800 times',
    make: textOf(() => `{ Patient(id: 1) { ${pieces(4800, () => '...f')} } } fragment f on Patient { id }`),
    outcome: 'answered',
  },
  {
    name: '1,200 fragments in a row',
    make: textOf(() => `{ Patient(id: 1) { ...f0 } } ${chain('Patient', 1200, (next) => next)}`),
    outcome: 'answered',
    parsed: true,
  },
  {
    name: '1,400 unused fragments',
    make: textOf(
      () => `{ PatientList(_count: 1) { id } } ${pieces(1400, (index) => `fragment f${index} on Patient { id }`)}`,
    ),
    outcome: 'invalid',
  },
  {
    name: 'a fragment that opens itself',
    make: textOf(() => '{ ...f } fragment f on Query { ...f }'),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: '1,200 fragments in a ring',
    make: textOf(
      () => `{ ...f0 } ${pieces(1200, (index) => `fragment f${index} on Query { ...f${(index + 1) % 1200} }`)}`,
    ),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: 'many rings at once',
    make: textOf(
      () =>
        `{ ...f0 } ${pieces(90, (index) => `fragment f${index} on Query { ${pieces(30, (other) => `...f${(index * 7 + other * 13) % 90}`)} }`)}`,
    ),
    outcome: 'invalid',
  },
  {
    name: 'a ring through fields',
    make: textOf(
      () =>
        '{ Patient(id: 1) { ...f } } fragment f on Patient { link { other { resource { ... on Patient { ...f } } } } }',
    ),
    outcome: 'invalid',
  },
  {
    name: '700 operations that each open 600 fragments',
    make: () => ({
      query: `${pieces(700, (index) => `query q${index} { ...f0 }`)} ${chain('Query', 600, (next) => next).replace('{ id }', '{ PatientList { id } }')}`,
      context: { operationName: 'q1' },
    }),
    outcome: 'too-costly',
    hl7: 'answered',
  },
  {
    name: '1,200 operations, none of them chosen',
    make: textOf(() => pieces(1200, (index) => `query q${index} { PatientList { id } }`)),
    outcome: 'invalid',
  },
  {
    name: '900 equal searches',
    make: textOf(() => `{ ${'a: PatientList(_count: 1) { id } '.repeat(900)} }`),
    outcome: 'answered',
    hl7: 'too-costly',
    parsed: true,
  },
  {
    name: '9,900 equal leaves',
    make: textOf(() => `{ Patient(id: 1) { ${'id '.repeat(9900)} } }`),
    outcome: 'answered',
    parsed: true,
  },
  {
    name: '95 objects of 95 equal leaves',
    make: textOf(() => `{ Patient(id: 1) { ${`name { ${'family '.repeat(95)} } `.repeat(95)} } }`),
    outcome: 'answered',
  },
  {
    name: '1,500 fields that cannot be merged',
    make: textOf(() => `{ Patient(id: 1) { ${pieces(1500, (index) => `a: name(family: "${index}") { id }`)} } }`),
    outcome: 'too-costly',
    hl7: 'too-costly',
  },
  {
    name: '900 fields that cannot be merged',
    make: textOf(() => `{ Patient(id: 1) { ${pieces(900, (index) => `a: name(family: "${index}") { id }`)} } }`),
    outcome: 'invalid',
    hl7: 'answered',
  },
  {
    name: '40 fragments whose fields all conflict',
    make: textOf(
      () =>
        `{ Patient(id: 1) { ${pieces(40, (index) => `...f${index}`)} } } ${pieces(40, (index) => `fragment f${index} on Patient { ${pieces(16, (field) => `a${field}: name(family: "${index}") { id }`)} }`)}`,
    ),
    outcome: 'invalid',
    hl7: 'answered',
  },
  {
    name: '30 types of a resource, each with 30 types of a resource',
    make: textOf(() => `{ Patient(id: 1) { ${everyType(everyType('id'))} } }`),
    outcome: 'too-costly',
  },
  {
    name: '1,400 directives on one field',
    make: textOf(() => `{ Patient(id: 1) { id ${'@skip(if: false) '.repeat(1400)} } }`),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: '4,000 unknown directives',
    make: textOf(() => `{ Patient(id: 1) { id ${pieces(4000, (index) => `@a${index}`)} } }`),
    outcome: 'invalid',
  },
  {
    name: '900 fields with a directive each',
    make: textOf(() => `{ Patient(id: 1) { ${pieces(900, (index) => `a${index}: id @include(if: true)`)} } }`),
    outcome: 'answered',
  },
  {
    name: '700 conditions of a variable each',
    make: () => ({
      query: `query(${pieces(700, (index) => `$v${index}: Boolean = true`)}) { Patient(id: 1) { ${pieces(700, (index) => `a${index}: id @include(if: $v${index})`)} } }`,
    }),
    outcome: 'too-costly',
    limit: 'tokens',
  },
  {
    name: '300 conditions of a variable each',
    make: () => ({
      query: `query(${pieces(300, (index) => `$v${index}: Boolean = true`)}) { Patient(id: 1) { ${pieces(300, (index) => `a${index}: id @include(if: $v${index})`)} } }`,
    }),
    outcome: 'answered',
  },
  {
    name: '24 levels of @flatten',
    make: textOf(
      () =>
        `{ Patient(id: 1) { ${nested(8, 'link @flatten { other @flatten { resource @flatten { ', 'id', ' } } }')} } }`,
    ),
    outcome: 'answered',
  },
  {
    name: '12,000 items under one name by @flatten',
    make: textOf(
      () =>
        `{ ObservationList @flatten { subject @flatten { resource @flatten { ... on Patient { name @flatten { given } } } } } }`,
    ),
    outcome: 'answered',
  },
  {
    name: '@slice with work for each of 300 items',
    make: textOf(
      () =>
        `{ ObservationList @flatten @slice(path: "(1|2|3|4|5|6|7|8|9).select($this | $this * 2 | $this * 3).count()") { id } }`,
    ),
    outcome: 'answered',
  },
  {
    name: 'reverse lists four deep',
    make: textOf(
      () =>
        `{ Patient(id: 1) { ${nested(4, 'ObservationList(_reference: subject) { subject { resource { ', 'id', ' } } }')} } }`,
    ),
    outcome: 'too-costly',
  },
  {
    name: 'ten reverse lists beside one another, twice deep',
    make: textOf(
      () =>
        `{ PatientList { ${pieces(10, (index) => `a${index}: ObservationList(_reference: subject) { subject { resource { ${pieces(10, (inner) => `b${inner}: ObservationList(_reference: subject) { id }`)} } } }`)} } }`,
    ),
    outcome: 'too-costly',
  },
  {
    name: 'connections three deep, each counted',
    make: textOf(
      () =>
        `{ PatientConnection { count edges { resource { ${nested(2, 'ObservationConnection(_reference: subject) { count edges { resource { subject { resource { ', 'id', ' } } } } }')} } } } }`,
    ),
    outcome: 'too-costly',
  },
  {
    name: 'contained resources that refer to one another',
    make: textOf(() => {
      let selection = 'id';
      for (let level = 0; level < 6; level += 1)
        selection = `contained { ... on Condition { subject { resource { ... on Patient { ${selection} } } } } }`;
      return `{ Patient(id: "ring") { ${selection} } }`;
    }),
    outcome: 'too-costly',
  },
  {
    name: '300 references that lead nowhere, under 20 aliases',
    make: textOf(() => `{ ObservationList { ${pieces(20, (index) => `a${index}: performer { resource { id } }`)} } }`),
    outcome: 'not-found',
  },
];

/** The target of an extension, for thirty possible types. */
function everyType(inner: string): string {
  return `extension { valueReference { resource { ${TYPES.map((type) => `... on ${type} { ${inner} }`).join(' ')} } } }`;
}

const TYPES = R4.resourceTypes
  .filter((type) => type !== 'Binary' && type !== 'Bundle' && type !== 'Parameters')
  .slice(0, 30);
