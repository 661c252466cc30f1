import { beforeAll, expect, test } from 'vitest';
import { createFhirHandler, type FhirHandlerConfig } from '../../../src/http.js';
import {
  createFhirGraphql,
  createRepository,
  executeFhirGraphql,
  explainFhirGraphql,
  type FhirGraphql,
  type HostFields,
  MemoryStore,
  systemCaller,
} from '../../../src/index.js';

const store = new MemoryStore();
const caller = systemCaller('clinic');
const fields: HostFields = {
  Patient: {
    initials: {
      type: 'Own',
      needs: ['name'],
      resolve: (all) => all.map(({ name }) => ({ text: name?.[0]?.family?.[0] })),
    },
  },
};
const types = 'type Own { text: String }';
const graphql = createFhirGraphql({ store, fields, types, limits: { depth: 3 } });

const base: FhirHandlerConfig = {
  store,
  baseUrl: 'https://clinic.example/fhir/R4',
  audit: false,
  signIn: () => caller,
};

async function ask(config: Partial<FhirHandlerConfig>, query: string): Promise<unknown> {
  const handler = createFhirHandler({ ...base, ...config });
  const url = `${base.baseUrl}/$graphql?query=${encodeURIComponent(query)}`;
  return (await handler(new Request(url))).json();
}

beforeAll(async () => {
  await createRepository({ store, caller }).update({ resourceType: 'Patient', id: 'a', name: [{ family: 'Adler' }] });
});

const QUERY = '{ Patient(id: "a") { initials { text } } }';
const ANSWER = { data: { Patient: { initials: { text: 'A' } } } };

test('a handler accepts the configured service, or its fields', async () => {
  expect(await ask({ graphql }, QUERY)).toEqual(ANSWER);
  expect(await ask({ fields, types }, QUERY)).toEqual(ANSWER);
  expect(await ask({ graphql }, '{ __type(name: "Own") { fields { name } } }')).toEqual({
    data: { __type: { fields: [{ name: 'text' }] } },
  });
  expect(await ask({ graphql }, '{ PatientList { name { period { start } } } }')).toMatchObject({
    errors: [{ extensions: { code: 'too-costly', details: { limit: 'depth' } } }],
  });
});

test('it refuses a service of another store, any other value, and an option given twice', () => {
  const other = createFhirGraphql({ store: new MemoryStore() });
  for (const [config, message] of [
    [{ graphql: other }, 'graphql must be a service over the store of the handler'],
    [{ graphql: {} as FhirGraphql }, 'graphql must be a service that createFhirGraphql made'],
    [{ graphql, fields }, 'fields belongs to the service in graphql; give it to createFhirGraphql'],
    [{ graphql, limits: { depth: 9 } }, 'limits belongs to the service in graphql; give it to createFhirGraphql'],
  ] as const) {
    expect(() => createFhirHandler({ ...base, ...config })).toThrow(message);
  }
});

test('a context accepts the service in place of a store', async () => {
  expect(await executeFhirGraphql(QUERY, { graphql, caller })).toEqual(ANSWER);
  expect((await explainFhirGraphql(QUERY, { graphql, caller })).plan.calls.map(({ kind }) => kind)).toEqual([
    'read',
    'host',
  ]);
  await expect(executeFhirGraphql(QUERY, { graphql: {} as FhirGraphql, caller })).rejects.toThrow(TypeError);
});
