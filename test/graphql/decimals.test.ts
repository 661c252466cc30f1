import { describe, expect, test } from 'vitest';
import { parseJson, readGraphqlRequest } from '../../src/http.js';
import {
  type AnyResource,
  createRepository,
  type Dialect,
  executeFhirGraphql,
  MemoryStore,
  systemCaller,
  toHttpResponse,
} from '../../src/index.js';
import { sparingStore } from '../support/sparing-store.js';

const caller = systemCaller('clinic');

const RESOURCES = [
  `{"resourceType":"Observation","id":"a","status":"final","code":{"text":"x"},"subject":{"reference":"Patient/p"},
    "valueQuantity":{"value":1.00},"component":[
      {"code":{"text":"low"},"valueQuantity":{"value":2.50}},
      {"code":{"text":"none"}},
      {"code":{"text":"plain"},"valueQuantity":{"value":2.5}},
      {"code":{"text":"high"},"valueQuantity":{"value":66.899999999999991,"extension":[{"url":"urn:e","valueDecimal":0.10}]}}]}`,
  `{"resourceType":"Patient","id":"p","extension":[{"url":"urn:e","valueDecimal":3.0}]}`,
  `{"resourceType":"MolecularSequence","id":"m","coordinateSystem":0,"quality":[
    {"type":"indel","roc":{"precision":[1.0,0.50,1],"sensitivity":[1]}},{"type":"snp","roc":{"precision":[7.0]}}]}`,
  `{"resourceType":"ChargeItem","id":"c","status":"billable","code":{"text":"c"},"subject":{"reference":"Patient/p"},
    "factorOverride":1.0,"contained":[{"resourceType":"Media","id":"d","status":"completed","duration":2.00}]}`,
];

async function open() {
  const store = sparingStore(new MemoryStore());
  await store.commit(
    RESOURCES.map((text) => {
      const resource = parseJson(text) as AnyResource & { id: string };
      return { kind: 'put', key: { project: 'clinic', type: resource.resourceType, id: resource.id }, resource };
    }),
  );
  return { store, caller };
}

/** The text of the response's data. */
async function answer(query: string, dialect: Dialect = 'standard', variables?: string): Promise<string> {
  const request = readGraphqlRequest({
    headers: { 'content-type': 'application/json' },
    body: `{"query":${JSON.stringify(query)}${variables === undefined ? '' : `,"variables":${variables}`}}`,
  });
  const result = await executeFhirGraphql(request.query, { ...request, ...(await open()), dialect });
  expect(result.errors).toBeUndefined();
  return toHttpResponse(result).body.slice('{"data":'.length, -1);
}

describe('decimals in results have their stored text', () => {
  test.each([
    [
      'under their names',
      '{ Observation(id: "a") { valueQuantity { value } } }',
      '{"Observation":{"valueQuantity":{"value":1.00}}}',
    ],
    [
      'under aliases',
      '{ o: Observation(id: "a") { q: valueQuantity { v: value w: value unit } } }',
      '{"o":{"q":{"v":1.00,"w":1.00,"unit":null}}}',
    ],
    [
      'under aliases with two underscores',
      '{ __o: Observation(id: "a") { valueQuantity { __proto__: value __v: value } } }',
      '{"__o":{"valueQuantity":{"__proto__":1.00,"__v":1.00}}}',
    ],
    [
      'in fragments',
      '{ Observation(id: "a") { ...F ... on Observation { valueQuantity { unit } } } } fragment F on Observation { valueQuantity { value } }',
      '{"Observation":{"valueQuantity":{"value":1.00,"unit":null}}}',
    ],
    [
      'in lists of objects',
      '{ Observation(id: "a") { component { valueQuantity { value } } } }',
      '{"Observation":{"component":[{"valueQuantity":{"value":2.50}},{"valueQuantity":null},{"valueQuantity":{"value":2.5}},{"valueQuantity":{"value":66.899999999999991}}]}}',
    ],
    [
      'behind filters',
      `{ Observation(id: "a") { component(fhirpath: "code.text = 'high'") { valueQuantity { value extension { valueDecimal } } } } }`,
      '{"Observation":{"component":[{"valueQuantity":{"value":66.899999999999991,"extension":[{"valueDecimal":0.10}]}}]}}',
    ],
    [
      'in lists of decimals',
      '{ MolecularSequence(id: "m") { quality { roc { precision sensitivity } } } }',
      '{"MolecularSequence":{"quality":[{"roc":{"precision":[1.0,0.50,1],"sensitivity":[1]}},{"roc":{"precision":[7.0],"sensitivity":null}}]}}',
    ],
    [
      'in lists cut by @first',
      '{ MolecularSequence(id: "m") { quality { roc { precision @first } } } }',
      '{"MolecularSequence":{"quality":[{"roc":{"precision":[1.0]}},{"roc":{"precision":[7.0]}}]}}',
    ],
    [
      'in contained resources',
      '{ ChargeItem(id: "c") { factorOverride contained { ... on Media { duration } } } }',
      '{"ChargeItem":{"factorOverride":1.0,"contained":[{"duration":2.00}]}}',
    ],
    [
      'behind references',
      '{ Observation(id: "a") { subject { resource { ... on Patient { extension { valueDecimal } } } } } }',
      '{"Observation":{"subject":{"resource":{"extension":[{"valueDecimal":3.0}]}}}}',
    ],
    [
      'in reverse lists',
      '{ Patient(id: "p") { ObservationList(_reference: subject) { valueQuantity { value } } } }',
      '{"Patient":{"ObservationList":[{"valueQuantity":{"value":1.00}}]}}',
    ],
    [
      'in connections',
      '{ ChargeItemConnection { edges { resource { factorOverride } } } }',
      '{"ChargeItemConnection":{"edges":[{"resource":{"factorOverride":1.0}}]}}',
    ],
    [
      'flattened into lists',
      '{ Observation(id: "a") { component @flatten { valueQuantity @flatten { value } } } }',
      '{"Observation":{"value":[2.50,2.5,66.899999999999991]}}',
    ],
    [
      'flattened into names by @slice',
      '{ Observation(id: "a") { component @flatten @slice(path: "code.text") { valueQuantity @flatten { value } } } }',
      '{"Observation":{"value.low":[2.50],"value.none":null,"value.plain":[2.5],"value.high":[66.899999999999991]}}',
    ],
    [
      'flattened to one by @singleton',
      '{ Observation(id: "a") { valueQuantity @flatten { value @singleton } } }',
      '{"Observation":{"value":1.00}}',
    ],
    [
      'flattened lists of decimals',
      '{ MolecularSequence(id: "m") { quality @flatten { roc @flatten { precision } } } }',
      '{"MolecularSequence":{"precision":[1.0,0.50,1,7.0]}}',
    ],
  ])('%s', async (_, query, expected) => {
    expect(await answer(query)).toBe(expected);
  });

  test('collated and as a choice in dialect hl7', async () => {
    const query = '{ Observation(id: "a") { value { value value unit } } ChargeItem(id: "c") { factorOverride } }';
    expect(await answer(query, 'hl7')).toBe(
      '{"Observation":{"value":{"value":[1.00,1.00]}},"ChargeItem":{"factorOverride":1.0}}',
    );
  });
});

test('decimals that a host adds next to the data keep their text, too', async () => {
  const context = await open();
  const result = await executeFhirGraphql('{ Observation(id: "a") { id } }', context);
  const extensions = { charge: await createRepository(context).read('ChargeItem', 'c') };
  expect(toHttpResponse({ ...result, extensions }).body).toContain('"factorOverride":1.0,');
  const data = { ...(result.data as object), ...extensions };
  expect(toHttpResponse({ ...result, data }).body).toContain('"factorOverride":1.0,');
});

describe('decimals in requests', () => {
  const create = 'ObservationCreate(res: { status: "final", code: { text: "x" }, valueQuantity: { value: $v } })';
  test.each([
    ['a variable', `mutation($v: Float) { ${create} { valueQuantity { value } } }`, '{"v":42.256500}', '42.256500'],
    [
      'the default of a variable',
      `mutation($v: Float = 1.50) { ${create} { valueQuantity { value } } }`,
      undefined,
      '1.50',
    ],
    [
      'a given variable with a default',
      `mutation($v: Float = 1.50) { ${create} { valueQuantity { value } } }`,
      '{"v":1.5}',
      '1.5',
    ],
    ['a literal', `mutation { ${create.replace('$v', '-0.70e1')} { valueQuantity { value } } }`, undefined, '-0.70e1'],
  ])('keep their text: %s', async (_, query, variables, written) => {
    expect(await answer(query, 'standard', variables)).toBe(
      `{"ObservationCreate":{"valueQuantity":{"value":${written}}}}`,
    );
  });

  test('keep their text in lists of variables, and in a single value for a list', async () => {
    const query = `mutation($v: [Float!]) {
      MolecularSequenceCreate(res: { coordinateSystem: 0, quality: [{ type: "indel", roc: { precision: $v } }] }) {
        quality { roc { precision } }
      }
    }`;
    for (const [given, written] of [
      ['[1.0,2,0.50]', '[1.0,2,0.50]'],
      ['1.0', '[1.0]'],
    ]) {
      expect(await answer(query, 'standard', `{"v":${given!}}`)).toContain(`"precision":${written!}`);
    }
  });

  test('are whole numbers if the element is an integer', async () => {
    const query = `mutation($res: MolecularSequenceInput!) { MolecularSequenceCreate(res: $res) { coordinateSystem } }`;
    expect(await answer(query, 'standard', '{"res":{"coordinateSystem":1.0}}')).toContain('"coordinateSystem":1}');
  });

  test('set the precision of a search, also as a variable', async () => {
    // 1 is 0.5 up to 1.5; 1.10 is 1.095 up to 1.105.
    const query = 'query($v: Float) { ObservationList(value_quantity: $v) { id } }';
    for (const [value, ids] of [
      ['1', ['a']],
      ['1.10', []],
      ['1.0', ['a']],
      ['1.2', []],
      ['1e0', ['a']],
      ['1.4e0', []],
      ['1e1', []],
    ] as const) {
      const data = JSON.parse(await answer(query, 'standard', `{"v":${value}}`)) as {
        ObservationList: { id: string }[];
      };
      expect(
        data.ObservationList.map(({ id }) => id),
        value,
      ).toEqual(ids);
    }
  });
});
