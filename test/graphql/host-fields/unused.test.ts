import { beforeAll, describe, expect, test } from 'vitest';
import { QUERIES } from '../../../bench/queries.js';
import { generateSample } from '../../../examples/sample-data.js';
import { createFhirGraphql, type FhirGraphql, type HostFields, importBundle, MemoryStore } from '../../../src/index.js';
import { IS_LONG } from '../../support/chance.js';
import { countCalls } from '../counting-store.js';
import { caller } from '../harness.js';

let resolved = 0;
const fields: HostFields = {
  ...Object.fromEntries(
    ['Patient', 'Observation', 'Encounter', 'DiagnosticReport', 'HumanName', 'Resource'].map((type) => [
      type,
      {
        [`own${type}`]: {
          type: 'Float',
          needs: type === 'Resource' ? [] : '*',
          resolve: (all: readonly object[]) => ((resolved += 1), all.map(() => 1)),
        },
      },
    ]),
  ),
  Query: { own: { type: 'Float', resolve: () => (resolved += 1) } },
};
const inner = new MemoryStore();
const { store, takeCalls } = countCalls(inner);
const plain = createFhirGraphql({ store });
const withFields = createFhirGraphql({ store, fields });
let patient: string;

beforeAll(async () => {
  for (const bundle of generateSample({ patients: IS_LONG ? 6 : 2 }))
    await importBundle(bundle, { store: inner, caller });
  const { data } = await plain.execute('{ PatientList(gender: "female", _count: 1) { id } }', { caller });
  patient = (data as { PatientList: [{ id: string }] }).PatientList[0].id;
});

describe('fields of the host that a query does not use', () => {
  test.each(QUERIES)('change neither plan, store calls nor answer: $what', async ({ text }) => {
    const request = { caller, variables: { patient, gender: 'female' } };
    const seen = async (service: FhirGraphql): Promise<object> => {
      takeCalls();
      const answer = await service.execute(text, request);
      const calls = takeCalls();
      return { answer, calls, explanation: await service.explain(text, request) };
    };
    const expected = await seen(plain);
    expect(expected).not.toHaveProperty('answer.errors');
    expect(expected).not.toHaveProperty('calls', []);
    expect(await seen(withFields)).toEqual(expected);
    expect(resolved).toBe(0);
  });
});
