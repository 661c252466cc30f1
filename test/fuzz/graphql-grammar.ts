import fc from 'fast-check';

/** Fields by type: the type of the field, empty for a leaf. */
const FIELDS = {
  Query: {
    Patient: 'Patient',
    PatientList: 'Patient',
    PatientConnection: 'Connection',
    ObservationList: 'Observation',
    ObservationConnection: 'Connection',
    __schema: 'Schema',
    __type: 'Type',
  },
  Patient: {
    id: '',
    resourceType: '',
    birthDate: '',
    _birthDate: 'Element',
    active: '',
    name: 'HumanName',
    telecom: 'ContactPoint',
    managingOrganization: 'Reference',
    extension: 'Extension',
    contained: 'Any',
    ObservationList: 'Observation',
    ObservationConnection: 'Connection',
    __typename: '',
  },
  Observation: {
    id: '',
    status: '',
    code: 'CodeableConcept',
    subject: 'Reference',
    performer: 'Reference',
    device: 'Reference',
    effectiveDateTime: '',
    valueQuantity: 'Quantity',
    contained: 'Any',
  },
  Connection: { count: '', next: '', first: '', last: '', previous: '', pagesize: '', offset: '', edges: 'Edge' },
  Edge: { mode: '', score: '', resource: 'Any' },
  Reference: { reference: '', display: '', resource: 'Any' },
  Any: { resourceType: '', id: '', __typename: '', '... on Patient': 'Patient', '... on Observation': 'Observation' },
  HumanName: { use: '', family: '', given: '', _family: 'Element', period: 'Period' },
  Period: { start: '', end: '' },
  ContactPoint: { system: '', value: '' },
  CodeableConcept: { text: '', coding: 'Coding' },
  Coding: { system: '', code: '', display: '' },
  Quantity: { value: '', unit: '', code: '' },
  Element: { id: '', extension: 'Extension' },
  Extension: { url: '', valueString: '', valueDateTime: '', valueAddress: 'Address', extension: 'Extension' },
  Address: { city: '' },
  Schema: { queryType: 'Type', types: 'Type', __typename: '' },
  Type: { name: '', kind: '', fields: 'Field', ofType: 'Type', enumValues: 'Enum', inputFields: 'Field' },
  Field: { name: '', isDeprecated: '', type: 'Type' },
  Enum: { name: '' },
} as const satisfies { readonly [type: string]: { readonly [field: string]: string } };
type TypeName = keyof typeof FIELDS;

/** The possible arguments of a field, by its name or that of its type. */
const ARGUMENTS: { readonly [place: string]: readonly string[] } = {
  search: [
    '_count: 2',
    '_count: $int',
    '_offset: 1',
    '_sort: "-_lastUpdated,_id"',
    '_sort: $text',
    '_filter: "_id pr true"',
    '_filter: $text',
    'fhirpath: "id.exists()"',
    'fhirpath: $text',
    '_id: ["ann", "weight", $text]',
    '_lastUpdated: "ge2020"',
  ],
  PatientSearch: ['gender: female', 'name: "hill"', 'birthdate: ["ge1950", "lt2030"]', 'organization: $text'],
  ObservationSearch: ['status: "final"', 'subject: "Patient/ann"', 'value_quantity: "gt60"', 'date: "ge2020"'],
  Patient: ['id: "ann"', 'id: ann', 'id: $text', 'id: "nobody"', 'id: 1'],
  list: ['_count: 1', '_offset: $int', 'fhirpath: "$this.exists()"', 'fhirpath: $text'],
  name: ['use: "official"', 'given: "Ann"', 'family: $text'],
  telecom: ['system: "email"'],
  extension: ['url: "urn:x"', 'url: $text'],
  coding: ['code: "8867-4"'],
  resource: ['optional: true', 'optional: $yes', 'type: Patient'],
  __type: ['name: "Patient"', 'name: $text'],
  fields: ['includeDeprecated: $yes'],
};
const LISTS: ReadonlySet<string> = new Set(['name', 'telecom', 'extension', 'contained', 'performer', 'coding']);
const WILD_ARGUMENTS = [
  'nope: 1',
  'name: { a: 1 }',
  '_count: "x"',
  'id: null',
  'cursor: $text',
  '_sort: [1]',
  'url: 3',
];

const SEARCH = /^(\w+)(?:List|Connection)$/;

const DIRECTIVES = [
  '@skip(if: $yes)',
  '@include(if: true)',
  '@first',
  '@flatten',
  '@singleton',
  '@slice(path: "$index")',
  '@nope',
];
/** Arguments that are valid nowhere, or not here. */
const WILD = [
  'nope',
  'id(a: 1)',
  'name',
  '__schema { types { name } }',
  '... on Nothing { id }',
  '...unknown',
  'count',
  '_id',
  'a: b: c',
];
const VARIABLES: { readonly [name: string]: string } = {
  $int: 'Int = 1',
  $text: 'String = "ann"',
  $yes: 'Boolean = true',
};
const FRAGMENTS: readonly TypeName[] = ['Patient', 'Observation', 'HumanName', 'Query'];

const often = fc.constantFrom;

const trees = fc.letrec<{ [Type in TypeName]: string }>(
  (tie) =>
    Object.fromEntries(
      (Object.keys(FIELDS) as TypeName[]).map((type) => [type, selections(type, (other) => tie(other))]),
    ) as { [Type in TypeName]: fc.Arbitrary<string> },
);

function selections(type: TypeName, of: (type: TypeName) => fc.Arbitrary<string>): fc.Arbitrary<string> {
  const fields = Object.entries<string>(FIELDS[type]);
  const leaves = fields.filter(([, to]) => to === '').map(([name]) => name);
  const inner = fields.filter(([, to]) => to !== '').map(([name, to]) => branch(type, name, to as TypeName, of));
  const leaf = leaves.length === 0 ? [] : [{ weight: 40, arbitrary: often(...leaves) }];
  const fragment = FRAGMENTS.includes(type) ? [{ weight: 3, arbitrary: fc.constant(`...${type}Parts`) }] : [];
  const wild = { weight: 1, arbitrary: often(...WILD) };
  const shallow = leaf.length === 0 ? inner.slice(0, 1).map((arbitrary) => ({ weight: 15, arbitrary })) : leaf;
  const one = fc.oneof(
    { depthSize: 'small', depthIdentifier: 'graphql', withCrossShrink: true },
    ...shallow,
    ...fragment,
    ...inner.map((arbitrary) => ({ weight: 15, arbitrary })),
    wild,
  );
  return fc.array(one, { minLength: 1, maxLength: 4 }).map((all) => `{ ${all.join(' ')} }`);
}

function branch(
  parent: TypeName,
  name: string,
  to: TypeName,
  of: (type: TypeName) => fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  if (name.startsWith('...')) return of(to).map((inner) => `${name} ${inner}`);
  return fc
    .tuple(
      // Fields of one name with different arguments do not merge.
      seldom(
        fc.nat({ max: 99 }).map((number) => `a${number}: `),
        1,
      ),
      argumentsOf(parent, name),
      seldom(often(...DIRECTIVES), 15),
      of(to),
    )
    .map(([alias, given, directive, inner]) => `${alias}${name}${given} ${directive} ${inner}`);
}

function argumentsOf(parent: TypeName, name: string): fc.Arbitrary<string> {
  const texts = textsFor(parent, name);
  if (texts.length === 0) return fc.constant('');
  const reverse = parent !== 'Query' && SEARCH.test(name);
  const list = fc
    .uniqueArray(
      fc.oneof({ weight: 40, arbitrary: often(...texts) }, { weight: 1, arbitrary: often(...WILD_ARGUMENTS) }),
      {
        minLength: 1,
        maxLength: 2,
        selector: (text) => text.split(':')[0]!,
      },
    )
    .map((all) => `(${(reverse ? ['_reference: subject', ...all] : all).join(', ')})`);
  return reverse || name === 'Patient' || name === '__type' ? list : seldom(list, 1);
}

function textsFor(parent: TypeName, name: string): readonly string[] {
  const searched = SEARCH.exec(name)?.[1];
  if (searched !== undefined) return [...ARGUMENTS['search']!, ...(ARGUMENTS[`${searched}Search`] ?? [])];
  if (parent === 'Edge') return [];
  return [...(LISTS.has(name) ? ARGUMENTS['list']! : []), ...(ARGUMENTS[name] ?? [])];
}

/** Empty, except in one of so many cases. */
function seldom(text: fc.Arbitrary<string>, than: number): fc.Arbitrary<string> {
  return seldomOf('', text, than);
}

function seldomOf(usual: string, text: fc.Arbitrary<string>, than: number): fc.Arbitrary<string> {
  return fc.oneof({ weight: than, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: text });
}

/** Documents, every third of which is valid, with the fragments and variables that they use, and sometimes others. */
export const grammarDocuments: fc.Arbitrary<string> = fc
  .record({
    operation: fc.constantFrom(
      'query',
      'query',
      'query',
      'query',
      'query',
      'query',
      'query',
      'mutation',
      'subscription',
    ),
    root: trees.Query,
    fragments: fc.record(Object.fromEntries(FRAGMENTS.map((type) => [type, trees[type]]))),
    more: seldom(
      fc.constantFrom('query Q { PatientList { id } }', 'fragment Lost on Patient { id }', '{ x }', '#', '}'),
      15,
    ),
  })
  .map(({ operation, root, fragments, more }) => {
    let text = root;
    // A fragment can use others, even in a circle.
    for (const _ of FRAGMENTS) {
      for (const [type, selection] of Object.entries(fragments)) {
        const definition = ` fragment ${type}Parts on ${type} ${selection}`;
        if (text.includes(`...${type}Parts`) && !text.includes(definition)) text += definition;
      }
    }
    const used = Object.entries(VARIABLES).filter(([name]) => text.includes(name));
    const declared = used.length === 0 ? '' : `(${used.map(([name, type]) => `${name}: ${type}`).join(', ')})`;
    return `${operation}${declared} ${text} ${more}`;
  });
