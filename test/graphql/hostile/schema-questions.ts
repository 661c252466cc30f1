import { nested, pieces, textOf, type HostileDocument } from './hostile-document.js';

/** Introspection, and names with a meaning in JavaScript. */
export const HOSTILE_QUESTIONS: readonly HostileDocument[] = [
  {
    name: 'types of fields of types',
    make: textOf(() => `{ __schema { types { ${nested(4, 'fields { type { ', 'name', ' } }')} } } }`),
    outcome: 'invalid',
  },
  {
    name: 'types of arguments of fields, over and over',
    make: textOf(
      () => `{ __schema { types { ${pieces(40, (index) => `a${index}: fields { args { name type { name } } }`)} } } }`,
    ),
    outcome: 'too-costly',
  },
  {
    name: 'types of fields of types of fields of all resources',
    make: textOf(
      () =>
        `{ __type(name: "Resource") { ${nested(1, 'possibleTypes { fields { type { fields { type { ', 'name', ' } } } } }')} } }`,
    ),
    outcome: 'invalid',
  },
  {
    name: 'types of arguments of fields of arguments',
    make: textOf(() => '{ __schema { types { fields { args { type { fields { args { name } } } } } } } }'),
    outcome: 'answered',
  },
  {
    name: '900 types by name',
    make: textOf(() => `{ ${pieces(900, (index) => `a${index}: __type(name: "Patient") { name }`)} }`),
    outcome: 'too-costly',
  },
  {
    name: '60 whole schemas',
    make: textOf(() => `{ ${pieces(60, (index) => `a${index}: __schema { types { name fields { name } } }`)} }`),
    outcome: 'too-costly',
  },
  {
    name: '3,000 type names',
    make: textOf(() => `{ ${pieces(3000, (index) => `a${index}: __typename`)} }`),
    outcome: 'answered',
  },
  { name: 'an alias __proto__', make: textOf(() => '{ __proto__: PatientList { id } }'), outcome: 'answered' },
  { name: 'a field constructor', make: textOf(() => '{ constructor { id } }'), outcome: 'invalid' },
  { name: 'an argument __proto__', make: textOf(() => '{ PatientList(__proto__: 1) { id } }'), outcome: 'invalid' },
  { name: 'a type hasOwnProperty', make: textOf(() => '{ ... on hasOwnProperty { id } }'), outcome: 'invalid' },
  { name: 'a fragment toString that is not there', make: textOf(() => '{ ...toString }'), outcome: 'invalid' },
];
