import fc from 'fast-check';
import { readGraphqlRequest } from '../../src/http.js';
import {
  type Dialect,
  executeFhirGraphql,
  explainFhirGraphql,
  type HttpRequest,
  toHttpResponse,
} from '../../src/index.js';
import { grammarDocuments } from './graphql-grammar.js';
import { AWKWARD_TEXTS, mutatedTexts, mutatedValues } from './mutate.js';
import { answerOf, outcomeOf } from './safe-outcome.js';
import { contentOf, forged, realCursors } from './cursors.js';
import { DOCUMENTS, FILTERS, SEARCHES } from './seeds.js';
import { ask, search, type Surface } from './surface.js';

const GRAPHQL_TOKENS = /\s+|"(?:[^"\\]|\\.)*"|\.\.\.|[\w$@]+|[^]/g;
const WORDS = /[\w-]+|[^]/g;
const dialect = fc.constantFrom<Dialect>('standard', 'hl7');

export const documents: Surface<{ readonly query: string; readonly dialect: Dialect }> = {
  inputs: fc.record({
    query: fc.oneof(
      { weight: 2, arbitrary: grammarDocuments },
      { weight: 2, arbitrary: mutatedTexts(DOCUMENTS, { pieces: GRAPHQL_TOKENS }) },
      { weight: 1, arbitrary: mutatedTexts(DOCUMENTS) },
    ),
    dialect,
  }),
  async send({ query, dialect }, world) {
    const { store, caller } = world;
    await outcomeOf(() => explainFhirGraphql(query, { store, caller, dialect }));
    return ask(query, world, { readonly: true, dialect });
  },
};

const VARIABLES = {
  id: 'ann',
  count: 2,
  sort: 'birthdate',
  filter: 'gender eq female',
  name: ['hill'],
  path: 'name.exists()',
  skip: false,
  cursor: null,
};

interface Asked {
  readonly variables: { readonly [name: string]: unknown };
  readonly focus: string;
  readonly operationName: string;
  readonly dialect: Dialect;
}

export const variables: Surface<Asked> = {
  inputs: fc.record({
    variables: mutatedValues<{ readonly [name: string]: unknown }>([VARIABLES], { host: true }),
    focus: mutatedTexts(['Patient/ann', 'Observation/weight'], { pieces: WORDS }),
    operationName: mostly('Q', fc.constantFrom(...AWKWARD_TEXTS)),
    dialect,
  }),
  async send({ variables, focus, operationName, dialect }, world) {
    const query = `query Q($id: ID!, $count: Int, $sort: String, $filter: String, $name: [String], $path: String,
        $skip: Boolean = true, $cursor: String) {
      Patient(id: $id) { id name(fhirpath: $path) { family } }
      PatientList(_sort: $sort, _filter: $filter, name: $name, _count: $count, fhirpath: $path) { id @skip(if: $skip) }
      PatientConnection(cursor: $cursor) { count }
    }`;
    return [
      await ask(query, world, { variables, operationName, dialect }),
      await ask('{ id __typename }', world, { focus, dialect }),
    ];
  },
};

const FHIRPATHS = [
  "name.where(use = 'official').given.first()",
  "telecom.where(system = 'email' and value.matches('^a.*@')).exists()",
  'birthDate < today() - 18 years or name.given.count() > 1',
  "name.select(given.join(' ') & ' ' & family).trim().length() > 3",
  "extension('urn:x').value.ofType(Reference).reference.startsWith('Patient/')",
  "iif(active, name.first(), name.skip(1)).family.replace('a', 'b') in ('x' | 'y')",
  'name.aggregate($this.given.count() + iif($total.empty(), 0, $total)) >= 3 implies @2020-01-01T10:00 > birthDate',
];

export const expressions: Surface<string> = {
  inputs: fc.oneof(
    mutatedTexts(FHIRPATHS, { pieces: /\w+|\s+|[^]/g, words: ['repeat(children())', ' and ', '%context', '$total'] }),
    mutatedTexts(FHIRPATHS),
  ),
  send: (path, world) =>
    ask('query ($p: String) { PatientList(fhirpath: $p) { id name(fhirpath: $p) { given } } }', world, {
      variables: { p: path },
    }),
};

export const searches: Surface<string> = {
  inputs: fc.oneof(
    mutatedTexts(SEARCHES, {
      pieces: WORDS,
      words: ['&_sort=', ':not', ':missing=', ':identifier', '_has:', ':Patient'],
    }),
    mutatedTexts(SEARCHES),
  ),
  send: (text, world) => outcomeOf(() => search(text.split('?', 1)[0]!, text.slice(text.indexOf('?') + 1), world)),
};

export const filters: Surface<string> = {
  inputs: fc.oneof(mutatedTexts(FILTERS, { pieces: WORDS }), mutatedTexts(FILTERS)),
  async send(filter, world) {
    return [
      await outcomeOf(() => search('Patient', `_filter=${encodeURIComponent(filter.toWellFormed())}`, world)),
      await ask('query ($f: String) { PatientList(_filter: $f) { id } ObservationList(_filter: $f) { id } }', world, {
        variables: { f: filter },
      }),
    ];
  },
};

const CURSORS = await realCursors([
  'PatientConnection(_count: 1, _sort: "-birthdate,name")',
  'PatientConnection(_count: 1, _sort: "_lastUpdated", _filter: "name pr true")',
  'PatientConnection(_count: 1, fhirpath: "name.exists()", gender: ["female", "male"])',
]);

/** Damaged cursors, and forged cursors with damaged content and a valid checksum. */
export const cursors: Surface<string> = {
  inputs: fc.oneof(
    { weight: 1, arbitrary: mutatedTexts(CURSORS) },
    { weight: 1, arbitrary: mutatedTexts(CURSORS.map(contentOf), { pieces: WORDS }).map(forged) },
    {
      weight: 3,
      arbitrary: mutatedValues(CURSORS.map((text) => JSON.parse(contentOf(text)) as unknown)).map((value) =>
        forged(JSON.stringify(value)),
      ),
    },
  ),
  send: (cursor, world) =>
    ask('query ($c: String) { PatientConnection(cursor: $c) { count next edges { resource { id } } } }', world, {
      variables: { c: cursor },
    }),
};

const BODY = { query: 'query Q($id: ID!) { Patient(id: $id) { id } }', variables: { id: 'ann' }, operationName: 'Q' };
const BODIES = [BODY, { extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }];
const URLS = [
  '/fhir/R4/Patient/ann/$graphql?operationName=Q',
  `/$graphql?query=${encodeURIComponent(BODY.query)}&variables=${encodeURIComponent('{"id":"ann"}')}`,
];
const TYPES = [
  'application/json; charset=utf-8',
  'application/graphql',
  'application/graphql-response+json;q=0.9, */*',
];

/** From the request to the response, as hosts do it. */
export const requests: Surface<HttpRequest> = {
  inputs: fc.record({
    method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'GET', 'PUT'),
    url: mostly(URLS[0]!, mutatedTexts(URLS, { pieces: WORDS })),
    headers: fc.record({
      'content-type': mostly(TYPES[0]!, mutatedTexts(TYPES, { pieces: WORDS })),
      accept: mostly(TYPES[2]!, mutatedTexts(TYPES, { pieces: WORDS })),
    }),
    body: fc.oneof(
      fc.constantFrom(...BODIES),
      mutatedValues<unknown>(BODIES),
      mutatedTexts([...BODIES.map((body) => JSON.stringify(body)), BODY.query], { pieces: WORDS }),
      fc.uint8Array({ maxLength: 20 }),
    ),
  }),
  send: (request, { store, caller }) =>
    outcomeOf(async () => {
      const read = readGraphqlRequest(request);
      const result = await executeFhirGraphql(read.query, { ...read, store, caller });
      answerOf(result);
      return toHttpResponse(result, { request });
    }),
};

function mostly<Value>(value: Value, other: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });
}
