import fc from 'fast-check';
import type { Observation } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { type Caller, systemCaller } from '../../src/access/caller.js';
import { parseJson } from '../../src/fhir/json/parse-json.js';
import { executeFhirGraphql } from '../../src/graphql/execute-fhir-graphql.js';
import { readJsonBody } from '../../src/http/read-body.js';
import { toHttpResponse } from '../../src/http/to-http-response.js';
import { importBundle } from '../../src/import/bundle/import-bundle.js';
import { importNdjson } from '../../src/import/ndjson/import-ndjson.js';
import { createRepository } from '../../src/repository/create-repository.js';
import type { ResourceStore } from '../../src/store/store.js';
import { cases, SEED } from '../support/chance.js';
import { overStores } from './harness.js';

const caller = systemCaller('clinic');

/** Texts come in by different ways, and each of them keeps the same of a decimal. */
const WAYS: readonly (readonly [name: string, bring: (text: string, context: Context) => Promise<void>])[] = [
  [
    'an NDJSON import',
    async (text, context) => {
      const { errors } = await importNdjson([Buffer.from(text)], context);
      expect(errors).toEqual([]);
    },
  ],
  [
    'a Bundle',
    async (text, context) => {
      const entry = `{"resource":${text},"request":{"method":"PUT","url":"Observation/o"}}`;
      const bundle = parseJson(`{"resourceType":"Bundle","type":"transaction","entry":[${entry}]}`);
      await importBundle(bundle as object, context);
    },
  ],
  [
    'an HTTP body',
    async (text, context) => {
      const body = readJsonBody({ headers: { 'content-type': 'application/fhir+json' }, body: text });
      await createRepository(context).update(body as Observation);
    },
  ],
];

interface Context {
  readonly store: ResourceStore;
  readonly caller: Caller;
}

function observation(decimal: string): string {
  const start = '{"resourceType":"Observation","id":"o","status":"final","code":{"text":"height"}';
  return `${start},"valueQuantity":{"value":${decimal}}}`;
}

/** The decimal in the text of a REST and of a GraphQL answer. */
async function answered(context: Context): Promise<readonly [rest: string | undefined, graphql: string | undefined]> {
  const resource = await createRepository(context).read('Observation', 'o');
  const result = await executeFhirGraphql('{ Observation(id: "o") { valueQuantity { value } } }', context);
  const [rest, graphql] = [resource, result].map((one) => /"value":([^}]+)\}/.exec(toHttpResponse(one).body)?.[1]);
  return [rest, graphql];
}

/** What docs/repository.md says of decimals: the form, and what is answered. */
const FORMS: readonly (readonly [written: string, answered: string])[] = [
  ['66.9', '66.9'],
  ['-0.05', '-0.05'],
  ['0.000001', '0.000001'],
  ['123456789012.345', '123456789012.345'],
  ['1.00', '1'],
  ['42.256500', '42.2565'],
  ['1e2', '100'],
  ['1E-7', '1e-7'],
  ['0.0000001', '1e-7'],
  ['-0.0', '0'],
  ['66.899999999999991', '66.89999999999999'],
  ['0.1234567890123456789', '0.12345678901234568'],
];

overStores('decimals', (open) => {
  test.each(WAYS)('by %s keep their value, and their form where it is that of JavaScript', async (_, bring) => {
    const context = { store: open(), caller };
    for (const [written, expected] of FORMS) {
      await bring(observation(written), context);
      expect(await answered(context), written).toEqual([expected, expected]);
    }
  });

  test('may have their precision beside them, which stays', async () => {
    const context = { store: open(), caller };
    const extension = [{ url: 'http://hl7.org/fhir/StructureDefinition/quantity-precision', valueInteger: 2 }];
    const value = `1.00,"_value":${JSON.stringify({ extension })}`;
    await WAYS[0]![1](observation(value), context);
    const { valueQuantity } = await createRepository(context).read('Observation', 'o');
    expect(valueQuantity).toEqual({ value: 1, _value: { extension } });
    const query = '{ Observation(id: "o") { valueQuantity { value _value { extension { url valueInteger } } } } }';
    const { data } = await executeFhirGraphql(query, context);
    expect(data).toEqual({ Observation: { valueQuantity: { value: 1, _value: { extension } } } });
  });

  test('beyond the range of a double are refused, not stored as null', async () => {
    const context = { store: open(), caller };
    const { errors } = await importNdjson([Buffer.from(observation('1e400'))], context);
    expect(errors.map(({ reason }) => reason.code)).toEqual(['invalid']);
  });

  test('of up to 15 digits, without an exponent or zeros at the end, are answered as they were written', async () => {
    const context = { store: open(), caller };
    await fc.assert(
      fc.asyncProperty(plainDecimal(), async (written) => {
        await WAYS[0]![1](observation(written), context);
        expect(await answered(context)).toEqual([written, written]);
      }),
      { seed: SEED, numRuns: cases(200, 20) },
    );
  });
});

/** At least 0.000001, as smaller ones get an exponent. */
function plainDecimal(): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom('', '-'), fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: 1, max: 999_999 }))
    .map(([sign, whole, part]) => `${sign}${whole}.${String(part).padStart(6, '0').replace(/0+$/, '')}`);
}
