import type { Bundle, Resource } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { expect } from 'vitest';
import { parseJson, readGraphqlRequest, readJsonBody } from '../../src/http.js';
import {
  createRepository,
  executeFhirGraphql,
  importBundle,
  importNdjson,
  type ResourceStore,
  systemCaller,
  toHttpResponse,
} from '../../src/index.js';
import { decimalText, withDecimals } from '../support/decimals.js';

export const caller = systemCaller('clinic');

/** Decimals at the top level of a resource, below it, in lists, in extensions and in contained resources. */
const SHAPES = [
  {
    resourceType: 'Observation',
    id: 'one',
    status: 'final',
    code: { text: 'a: 1.00, b' },
    valueQuantity: { value: '#0', unit: 'kg', extension: [{ url: 'urn:e', valueDecimal: '#1' }] },
    component: [
      { code: { text: 'x' }, valueQuantity: { value: '#2' } },
      { code: { text: 'y' }, valueSampledData: { origin: { value: '#3' }, period: '#4', dimensions: 1 } },
      { code: { text: 'z' }, valueRange: { low: { value: '#5' }, high: { value: '#6' } } },
    ],
  },
  {
    resourceType: 'ChargeItem',
    id: 'one',
    status: 'billable',
    code: { text: 'c' },
    subject: { reference: 'Patient/p' },
    quantity: { value: '#0' },
    factorOverride: '#1',
    priceOverride: { value: '#2', currency: 'EUR' },
    contained: [{ resourceType: 'Media', id: 'm', status: 'completed', duration: '#3' }],
  },
  {
    resourceType: 'MolecularSequence',
    id: 'one',
    coordinateSystem: 0,
    quality: [
      {
        type: 'indel',
        truthTP: '#0',
        roc: { numTP: [1, 2], precision: ['#1', '#2', '#3'], sensitivity: ['#4'], fMeasure: ['#5', '#6'] },
      },
    ],
  },
] as const;

interface Sample {
  readonly type: string;
  readonly text: string;
}

export const samples: fc.Arbitrary<Sample> = fc
  .tuple(fc.constantFrom(...SHAPES), fc.array(decimalText(), { minLength: 7, maxLength: 7 }))
  .map(([shape, decimals]) => ({ type: shape.resourceType, text: withDecimals(shape, decimals) }));

interface Context {
  readonly store: ResourceStore;
  readonly caller: typeof caller;
}

type Way = (sample: Sample, context: Context) => Promise<void>;

/** As text, like the body that a service receives. */
export const WAYS_IN: { readonly [name: string]: Way } = {
  async ndjson({ text }, context) {
    expect((await importNdjson([Buffer.from(text)], context)).errors).toEqual([]);
  },
  async transaction({ type, text }, context) {
    await importBundle(parseJson(bundle('transaction', type, text)) as object, context);
  },
  async batch({ type, text }, context) {
    await importBundle(parseJson(bundle('batch', type, text)) as object, context);
  },
  async 'transaction by the repository'({ type, text }, context) {
    const response = await createRepository(context).transaction(
      parseJson(bundle('transaction', type, text)) as Bundle,
    );
    expect(response.type).toBe('transaction-response');
  },
  async 'the body of a PUT, and spread'({ text }, context) {
    const body = readJsonBody({ headers: {}, body: Buffer.from(text) }, Infinity) as Resource;
    await createRepository(context).update({ ...body, id: 'one' });
  },
  async 'the body of a patch'({ type, text }, context) {
    const repository = createRepository(context);
    await repository.update({ resourceType: type, id: 'one' } as Resource);
    // Every element separately, so that decimals at the top level are also values of operations.
    const operations = members(text)
      .filter(([name]) => name !== 'resourceType' && name !== 'id')
      .map(([name, value]) => `{"op":"add","path":"/${name}","value":${value}}`);
    await repository.patch(type as 'Observation', 'one', parseJson(`[${operations.join(',')}]`) as never);
  },
  async 'a GraphQL variable'({ type, text }, context) {
    const query = `mutation($res: ${type}Input!) { ${type}Update(id: "one", res: $res) { id } }`;
    await mutate(`{"query":${JSON.stringify(query)},"variables":{"res":${text}}}`, context);
  },
  async 'GraphQL literals'({ type, text }, context) {
    const query = `mutation { ${type}Update(id: "one", res: ${literal(text)}) { id } }`;
    await mutate(JSON.stringify({ query }), context);
  },
  async 'a GraphQL patch'({ type, text }, context) {
    await createRepository(context).update({ resourceType: type, id: 'one' } as Resource);
    const operations = members(text)
      .filter(([name]) => name !== 'resourceType' && name !== 'id')
      .map(([name, value]) => `{"op":"add","path":"/${name}","value":${value}}`);
    const query = `mutation($patch: [PatchOperation!]!) { ${type}Patch(id: "one", patch: $patch) { id } }`;
    await mutate(`{"query":${JSON.stringify(query)},"variables":{"patch":[${operations.join(',')}]}}`, context);
  },
  async 'a read and an update in process'(sample, context) {
    await WAYS_IN['ndjson']!(sample, context);
    const repository = createRepository(context);
    const read = await repository.read(sample.type as 'Observation', 'one');
    read.language = 'en';
    const changed = await repository.update(read);
    delete changed.language;
    await repository.update(changed);
  },
  async 'a patch of something else'(sample, context) {
    await WAYS_IN['ndjson']!(sample, context);
    const repository = createRepository(context);
    for (const op of ['add', 'remove'] as const) {
      await repository.patch(sample.type as 'Observation', 'one', [{ op, path: '/language', value: 'en' }] as never);
    }
  },
  async 'a copy to another project by Bundle'(sample, context) {
    const other = { ...context, caller: systemCaller('other') };
    await WAYS_IN['ndjson']!(sample, other);
    const { meta: _, ...resource } = await createRepository(other).read(sample.type as 'Observation', 'one');
    expect(Object.getOwnPropertySymbols(resource)).toEqual([]);
    const whole = await createRepository(other).read(sample.type as 'Observation', 'one');
    const request = { method: 'PUT', url: `${sample.type}/one` } as const;
    await importBundle({ resourceType: 'Bundle', type: 'transaction', entry: [{ resource: whole, request }] }, context);
  },
};

/** The resource without `meta`, as it is answered. */
export const WAYS_OUT: { readonly [name: string]: (type: string, context: Context) => Promise<string> } = {
  read: async (type, context) => rest(await createRepository(context).read(type as 'Observation', 'one')),
  async vread(type, context) {
    const repository = createRepository(context);
    const { meta } = await repository.read(type as 'Observation', 'one');
    return rest(await repository.vread(type as 'Observation', 'one', meta.versionId));
  },
  search: async (type, context) =>
    resourceIn(rest(await createRepository(context).search(type as 'Observation', '_id=one'))),
  history: async (type, context) =>
    resourceIn(rest(await createRepository(context).history(type as 'Observation', 'one', { count: 1 }))),
  async transaction(type, context) {
    const entry = [{ request: { method: 'GET', url: `${type}/one` } }] as const;
    const request = { resourceType: 'Bundle', type: 'transaction', entry: [...entry] } as const;
    return resourceIn(rest(await createRepository(context).transaction(request as never)));
  },
  async 'import of a GET'(type, context) {
    const entry = [{ request: { method: 'GET', url: `${type}/one` } }];
    const result = await importBundle({ resourceType: 'Bundle', type: 'batch', entry }, context);
    return resourceIn(rest(result.bundle));
  },
  'an update that is answered': async (type, context) => {
    const repository = createRepository(context);
    return rest(await repository.update(await repository.read(type as 'Observation', 'one')));
  },
};

export async function bringAll(sample: Sample, context: Context): Promise<void> {
  for (const [name, bring] of Object.entries(WAYS_IN)) {
    await createRepository(context).update({ resourceType: sample.type, id: 'one', language: 'en' } as never);
    await bring(sample, context);
    expect(await WAYS_OUT['read']!(sample.type, context), name).toBe(sample.text);
  }
}

function bundle(type: string, resourceType: string, text: string): string {
  const entry = `{"resource":${text},"request":{"method":"PUT","url":"${resourceType}/one"}}`;
  return `{"resourceType":"Bundle","type":"${type}","entry":[${entry}]}`;
}

async function mutate(body: string, context: Context): Promise<void> {
  const request = readGraphqlRequest({ url: '/$graphql', headers: { 'content-type': 'application/json' }, body });
  expect((await executeFhirGraphql(request.query, { ...request, ...context })).errors).toBeUndefined();
}

/** The text of a REST answer without `meta`, which the store sets. */
function rest(result: unknown): string {
  return toHttpResponse(result).body.replace(/"meta":\{[^}]*\},?/g, '');
}

function resourceIn(text: string): string {
  return members(text, '"resource":').find(([name]) => name === '')![1];
}

/** The members of a JSON object as texts; with a mark, the object behind it alone. */
function members(text: string, mark?: string): readonly (readonly [name: string, value: string])[] {
  if (mark !== undefined) {
    const start = text.indexOf(mark) + mark.length;
    return [['', text.slice(start, valueEnd(text, start))]];
  }
  const found: [string, string][] = [];
  for (let at = 1; at < text.length - 1;) {
    const name = text.slice(at, valueEnd(text, at));
    const start = at + name.length + 1;
    const end = valueEnd(text, start);
    found.push([JSON.parse(name) as string, text.slice(start, end)]);
    at = end + 1;
  }
  return found;
}

/** The end of a value in a JSON text without white space. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    if (text[at] === '"') at = text.indexOf('"', at + 1);
    else if (text[at] === '{' || text[at] === '[') depth++;
    else if (depth === 0 && /[,:}\]]/.test(text[at] ?? '}')) return at;
    else if (text[at] === '}' || text[at] === ']') depth--;
    if (depth === 0 && /["}\]]/.test(text[at] ?? '')) return at + 1;
  }
}

/** A JSON text as a GraphQL literal: names without quotes. */
function literal(text: string): string {
  return text.replace(/"(\w+)":/g, '$1:');
}
