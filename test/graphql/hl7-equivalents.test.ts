import { describe, expect, test } from 'vitest';
import { executeFhirGraphql } from '../../src/index.js';
import { readHl7Cases, storeForHl7Case, HL7_CALLER } from './hl7-manifest.js';
import { hasShared, sharedJson, sharedText } from '../support/shared.js';
import { failures } from './harness.js';

type Json = { readonly [name: string]: unknown };

/** The answer of dialect `standard` to a case, compared with the answer that HL7 expects. */
interface Equivalent {
  /** The query, if strict GraphQL needs another spelling. */
  readonly query?: string;
  /** Members that HL7's answer omits and that are null here: `name.*.text`, `*` for each item of a list. */
  readonly nulls?: readonly string[];
  /** Members with other differences, instead of those of HL7's answer. */
  readonly instead?: Json;
  /** The errors, if HL7 fails the request or omits unavailable values. */
  readonly errors?: readonly string[];
  /** Why it differs, by the row of the table of dialects. */
  readonly row?: string;
}

const NAMES = ['name.*.text', 'name.*.family'];
const ABSENT = 'absent element';

const EQUIVALENTS: { readonly [name: string]: Equivalent } = {
  simple: { nulls: NAMES, row: ABSENT },
  'filter-fhirpath': { nulls: NAMES, row: ABSENT },
  'using wrong field': { errors: ['invalid (2:29)'] },
  polymorphic: {},
  reference: {},
  'reference-type-in': {},
  'reference-type-out': { nulls: ['subject.resource'], row: 'another type than asked for is absent' },
  'reference-broken': {
    instead: { authorizingPrescription: [{ reference: 'MedicationRequest/medrx0309', resource: null }] },
    errors: ['not-found at authorizingPrescription.0.resource (5:40)'],
    row: 'unresolvable `resource`',
  },
  'reference-optional': { nulls: ['authorizingPrescription.*.resource'], row: 'unresolvable `resource`, optional' },
  'reference-fragment-type': {},
  'extension-complex': {},
  'extension-complex-in': {},
  'extension-complex-out': { instead: { extension: [] }, row: 'filter that keeps nothing of an existing list' },
  'extension-simple': {
    instead: {
      subject: {
        resource: { birthDate: '2016-05-18', _birthDate: { extension: [{ valueDateTime: '2016-05-18T10:28:45Z' }] } },
      },
    },
    row: 'same response key twice',
  },
  'search-single': {},
  'search-simple': {},
  'search-full': {
    // HL7's answer is mocked in its numbers, its scores and its cursor.
    instead: {
      PatientConnection: {
        count: 2,
        offset: 0,
        pagesize: null,
        edges: ['example', 'xds'].map((id) => ({ mode: 'match', score: null, resource: { id, active: true } })),
        first: null,
        previous: null,
        next: null,
        last: null,
      },
    },
    row: ABSENT,
  },
  'reference-reverse': {},
  'directive-skip': { nulls: NAMES, row: ABSENT },
  'directive-include': { nulls: NAMES, row: ABSENT },
  'directive-variable': {
    // The argument of @include is not nullable, so its value cannot be nullable either.
    query: `query test($var: Boolean!) {
      identifier @include(if: $var) { system value }
      active
      name { text given family }
    }`,
    nulls: NAMES,
    row: ABSENT,
  },
  flatten: { nulls: ['text'], row: ABSENT },
  'flatten-first': { nulls: ['text'], row: ABSENT },
  'flatten-singleton1': { nulls: ['text'], row: ABSENT },
  'flatten-singleton2': {
    instead: {
      system: 'urn:oid:1.2.36.146.595.217.0.1',
      value: '12345',
      active: true,
      text: null,
      given: ['Peter', 'James', 'Jim', 'Peter', 'James'],
      family: null,
    },
    errors: ['invalid at family (4:30)'],
    row: 'a field that fails is null, with an error',
  },
  'flatten-singleton3': { nulls: ['text'], row: ABSENT },
  'flatten-slice1': {},
  'flatten-slice2': {},
  'list-sub': { nulls: ['entry.*.deleted'], row: ABSENT },
};

describe("the equivalents of HL7's cases in dialect standard", () => {
  const cases = readHl7Cases();

  test('there is one for each case', () => {
    const names = cases.map(({ name }) => name);
    expect(Object.keys(EQUIVALENTS)).toEqual(hasShared ? names : expect.arrayContaining(names));
    expect(Object.keys(EQUIVALENTS)).toHaveLength(29);
  });

  test.each(cases)('$name', async (entry) => {
    const { name, source, output, context, operation } = entry;
    const { query = sharedText(`hl7-graphql/cases/${source}`), nulls = [], instead, errors } = EQUIVALENTS[name]!;
    const answer = await executeFhirGraphql(query, {
      store: await storeForHl7Case(entry),
      caller: HL7_CALLER,
      focus: context === '' ? undefined : context.replace('/$graphql', ''),
      operationName: operation,
      variables: operation === undefined ? undefined : { var: true },
    });
    expect(failures(answer)).toEqual(errors ?? []);
    const hl7 = output === '$error' ? undefined : sharedJson<Json>(`hl7-graphql/cases/${output}`);
    if (hl7 === undefined && instead === undefined) expect(answer.data).toBeUndefined();
    else expect(answer.data).toEqual(nulls.reduce<unknown>(withNull, { ...hl7, ...instead }));
  });
});

/** The same answer with null at the path, wherever nothing is there. */
function withNull(answer: unknown, path: string): unknown {
  const [head, ...rest] = path.split('.') as [string, ...string[]];
  if (head === '*') return (answer as readonly unknown[]).map((item) => withNull(item, rest.join('.')));
  const object = answer as Json;
  if (rest.length > 0) return { ...object, [head]: withNull(object[head], rest.join('.')) };
  return Object.hasOwn(object, head) ? object : { ...object, [head]: null };
}
