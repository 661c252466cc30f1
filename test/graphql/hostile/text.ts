import { nested, pieces, textOf, type HostileDocument } from './hostile-document.js';

/** Texts that are too long, too deep or not GraphQL. */
export const HOSTILE_TEXTS: readonly HostileDocument[] = [
  { name: '10 MB of letters', make: textOf(() => 'x'.repeat(10_000_000)), outcome: 'too-costly', limit: 'queryLength' },
  {
    name: '10 MB of comment',
    make: textOf(() => `#${'x'.repeat(10_000_000)}`),
    outcome: 'too-costly',
    limit: 'queryLength',
  },
  { name: 'white space only', make: textOf(() => ' '.repeat(199_000)), outcome: 'invalid' },
  { name: 'commas only', make: textOf(() => ','.repeat(199_000)), outcome: 'invalid' },
  { name: 'comments only, one per line', make: textOf(() => '#\n'.repeat(99_000)), outcome: 'invalid' },
  {
    name: 'byte order marks',
    make: textOf(() => `{ PatientList(_count: 1) { id } }${'\uFEFF'.repeat(190_000)}`),
    outcome: 'answered',
  },
  { name: 'null characters', make: textOf(() => '\0'.repeat(100_000)), outcome: 'invalid' },
  { name: 'an open string', make: textOf(() => `{ PatientList(name: "${'a'.repeat(190_000)}`), outcome: 'invalid' },
  {
    name: 'an open block string',
    make: textOf(() => `{ PatientList(name: """${'\n "'.repeat(60_000)}`),
    outcome: 'invalid',
  },
  {
    name: 'a block string of indented lines',
    make: textOf(() => `{ PatientList(name: """${'\n  a'.repeat(45_000)}""") { id } }`),
    outcome: 'too-costly',
  },
  {
    name: 'escapes for half characters',
    make: textOf(() => `{ PatientList(name: "${'\\uD800'.repeat(30_000)}") { id } }`),
    outcome: 'invalid',
  },
  {
    name: 'a name of 190,000 letters',
    make: textOf(() => `{ ${'a'.repeat(190_000)} }`),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: 'an alias of 190,000 letters',
    make: textOf(() => `{ ${'a'.repeat(190_000)}: PatientList(_count: 1) { id } }`),
    outcome: 'answered',
  },
  {
    name: 'a number of 190,000 digits',
    make: textOf(() => `{ PatientList(_count: ${'9'.repeat(190_000)}) { id } }`),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: 'twenty misspelled fields of 9,000 letters',
    make: textOf(() => `{ PatientList { ${pieces(20, (index) => `b${index}${'a'.repeat(9000)}`)} } }`),
    outcome: 'invalid',
  },
  {
    name: '3,000 misspelled fields',
    make: textOf(() => `{ PatientList { ${pieces(3000, (index) => `nmae${index}`)} } }`),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: '2,400 misspelled root fields',
    make: textOf(() => `{ ${pieces(2400, (index) => `PatientLits${index} { id }`)} }`),
    outcome: 'invalid',
  },
  {
    name: '1,200 misspelled types',
    make: textOf(() => `{ Patient(id: 1) { ${pieces(1200, (index) => `... on Pateint${index} { id }`)} } }`),
    outcome: 'invalid',
  },
  { name: '100,000 open braces', make: textOf(() => '{'.repeat(100_000)), outcome: 'invalid' },
  { name: '60,000 nested selections', make: textOf(() => '{a'.repeat(60_000)), outcome: 'too-costly' },
  {
    name: '3,300 nested selections, closed',
    make: textOf(() => nested(3300, '{a', '{a}', '}')),
    outcome: 'too-costly',
  },
  {
    name: '3,000 nested inline fragments',
    make: textOf(() => `{ ${nested(3000, '... {', 'PatientList { id }', '}')} }`),
    outcome: 'too-costly',
    limit: 'depth',
  },
  {
    name: '1,500 nested lists',
    make: textOf(() => `{ PatientList(name: ${nested(1500, '[', '1', ']')}) { id } }`),
    outcome: 'too-costly',
    limit: 'depth',
  },
  {
    name: '300 nested lists',
    make: textOf(() => `{ PatientList(name: ${nested(300, '[', '1', ']')}) { id } }`),
    outcome: 'too-costly',
    limit: 'depth',
    parsed: true,
  },
  {
    name: '2,000 nested objects',
    make: textOf(() => `{ PatientList(name: ${nested(2000, '{a:', '1', '}')}) { id } }`),
    outcome: 'too-costly',
    limit: 'depth',
  },
  {
    name: '300 nested objects',
    make: textOf(() => `{ PatientList(name: ${nested(300, '{a:', '1', '}')}) { id } }`),
    outcome: 'too-costly',
    limit: 'depth',
    parsed: true,
  },
  {
    name: '3,000 nested list types',
    make: textOf(() => `query($a: ${nested(3000, '[', 'Int', ']')}) { PatientList(name: $a) { id } }`),
    outcome: 'too-costly',
    limit: 'depth',
  },
  {
    name: 'a type system instead of a query',
    make: textOf(() => pieces(1400, (index) => `type T${index} { a: T${index} }`)),
    outcome: 'invalid',
    parsed: true,
  },
  {
    name: '31 links from patient to patient',
    make: textOf(() => `{ Patient(id: 1) { ${nested(12, 'link { other { resource { ', 'id', ' } } }')} } }`),
    outcome: 'too-costly',
    limit: 'depth',
  },
];
