import type { Bundle, Resource } from '@medplum/fhirtypes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseJson, readGraphqlRequest } from '../../src/http.js';
import {
  type Caller,
  createRepository,
  executeFhirGraphql,
  importBundle,
  importNdjson,
  invite,
  type InviteBody,
  type JsonPatchOperation,
  MemoryStore,
  type Repository,
  type ResourceStore,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { outcomeOf } from '../fuzz/safe-outcome.js';
import { fill, plain, type Json } from './world.js';

/** As JSON from outside would bring them: `__proto__` is a name of its own there. */
const POISONS = [
  '{ "__proto__": { "polluted": true, "admin": true } }',
  '{ "constructor": { "prototype": { "polluted": true } } }',
  '{ "prototype": { "polluted": true } }',
  '{ "toString": "polluted", "hasOwnProperty": "polluted", "valueOf": 1 }',
] as const;

/** Names that every object has without having them. */
const INHERITED = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'] as const;

describe.each([
  ['memory', (): ResourceStore => new MemoryStore()],
  ['SQLite', (): ResourceStore => new SqliteStore(':memory:')],
])('on a %s store', (_, open) => {
  let store: ResourceStore;
  let caller: Caller;
  let repository: Repository;
  let prototypes: unknown;

  beforeEach(async () => {
    store = open();
    await fill(store, 'alpha', [plain({ resourceType: 'Patient', id: 'p1', name: [{ family: 'Seen' }] })]);
    caller = systemCaller('alpha');
    repository = createRepository({ store, caller });
    // The fhirpath library brings two members for texts when it is loaded.
    await ask('{ PatientList(fhirpath: "name.family.toQuantity()") { id } }');
    prototypes = inherited();
  });

  afterEach(async () => {
    expect(inherited()).toEqual(prototypes);
    expect(({} as Json)['polluted']).toBeUndefined();
    await store.close();
  });

  /** Invalid input can be refused or stored unchanged; it must not be interpreted. */
  const WRITES: { readonly [place: string]: (poison: string) => Promise<unknown> } = {
    'a resource created': (poison) => repository.create(json(`{ "resourceType": "Patient", ${inner(poison)} }`)),
    'a resource updated': (poison) =>
      repository.update(json(`{ "resourceType": "Patient", "id": "p1", ${inner(poison)} }`)),
    'an element': (poison) => repository.create(json(`{ "resourceType": "Patient", "name": [${poison}] }`)),
    'an extension': (poison) =>
      repository.create(json(`{ "resourceType": "Patient", "extension": [{ "url": "urn:x", ${inner(poison)} }] }`)),
    'a contained resource': (poison) =>
      repository.create(
        json(
          `{ "resourceType": "Patient", "contained": [{ "resourceType": "Patient", "id": "c", ${inner(poison)} }] }`,
        ),
      ),
    'a value patched in': (poison) =>
      repository.patch('Patient', 'p1', [{ op: 'add', path: '/name/0/period', value: JSON.parse(poison) as unknown }]),
    'a whole operation': (poison) =>
      repository.patch('Patient', 'p1', [
        json<JsonPatchOperation>(`{ "op": "add", "path": "/active", "value": true, ${inner(poison)} }`),
      ]),
    'a Bundle': (poison) =>
      importBundle(json<Bundle>(`{ "resourceType": "Bundle", "type": "batch", "entry": [], ${inner(poison)} }`), { store, caller }), // prettier-ignore
    'an entry of a Bundle': (poison) =>
      importBundle(
        json<Bundle>(`{ "resourceType": "Bundle", "type": "batch", "entry": [{
          "resource": { "resourceType": "Patient", ${inner(poison)} },
          "request": { "method": "POST", "url": "Patient", ${inner(poison)} }, ${inner(poison)} }] }`),
        { store, caller },
      ),
    'a line of NDJSON': (poison) =>
      importNdjson(Buffer.from(`{ "resourceType": "Patient", "id": "line", ${inner(poison)} }`), { store, caller }),
    variables: (poison) => ask('query ($a: String) { PatientList(name: $a) { id } }', json<Json>(poison)),
    'an object in a variable': (poison) =>
      ask('mutation ($res: PatientInput!) { PatientCreate(res: $res) { id } }', { res: json<Json>(poison) }),
    'an HTTP request': async (poison) =>
      readGraphqlRequest({
        method: 'POST',
        url: '/$graphql',
        headers: { 'content-type': 'application/json' },
        body: `{ "query": "{ PatientList { id } }", "variables": ${poison}, "extensions": ${poison}, ${inner(poison)} }`,
      }),
    'a policy': async (poison) => {
      const policy = json<Json>(
        `{ "resourceType": "AccessPolicy", "id": "policy", "name": "x",
           "resource": [{ "resourceType": "Patient", "criteria": "Patient?family=x", ${inner(poison)} }], ${inner(poison)} }`,
      );
      await store.commit([{ kind: 'put', key: { project: 'alpha', type: 'AccessPolicy', id: 'policy' }, resource: policy as never }]); // prettier-ignore
      await fill(store, 'alpha', [
        plain({ resourceType: 'User', id: 'u', firstName: 'A', lastName: 'B' }),
        plain({
          resourceType: 'ProjectMembership',
          id: 'member',
          project: { reference: 'Project/alpha' },
          user: { reference: 'User/u' },
          profile: { reference: 'Patient/p1' },
          access: [{ policy: { reference: 'AccessPolicy/policy' } }],
        }),
      ]);
      const member = await signIn(store, { membership: 'member' });
      const { entry = [] } = await createRepository({ store, caller: member }).search('Patient', {});
      expect(entry).toEqual([]);
    },
    'an invite': (poison) =>
      invite(
        'alpha',
        json<InviteBody>(`{ "resourceType": "Practitioner", "firstName": "A", "lastName": "B", "email": "a@b.example",
          "membership": ${poison}, ${inner(poison)} }`),
        { store, caller },
      ),
    'search parameters': (poison) => repository.search('Patient', json<{ [name: string]: string }>(poison)),
    'JSON text': async (poison) => parseJson(poison),
  };

  test.each(Object.entries(WRITES))('%s is ordinary data', async (_, write) => {
    for (const poison of POISONS) {
      const outcome = await outcomeOf(() => write(poison));
      expect(inherited()).toEqual(prototypes);
      expect((outcome as Json | undefined)?.['polluted']).toBeUndefined();
      expect((outcome as Json | undefined)?.['admin']).toBeUndefined();
    }
    // Nobody became an administrator, and the existing resources can be read.
    const members = await repository.search('ProjectMembership', {});
    expect((members.entry ?? []).map(({ resource }) => (resource as { admin?: boolean }).admin ?? false)).not.toContain(true); // prettier-ignore
    expect((await repository.read('Patient', 'p1')).resourceType).toBe('Patient');
  });

  test.each([
    '/__proto__/polluted',
    '/constructor/prototype/polluted',
    '/name/__proto__/polluted',
    '/name/0/__proto__/polluted',
    '/name/0/constructor/prototype/polluted',
    '/name/length',
    '/name/-1',
    '/__proto__',
  ])('a path of a patch through %s leads nowhere', async (path) => {
    for (const operation of [
      { op: 'add', path, value: true },
      { op: 'replace', path, value: true },
      { op: 'remove', path },
      { op: 'copy', from: '/name', path },
      { op: 'move', from: path, path: '/active' },
      { op: 'test', path, value: undefined },
    ]) {
      const outcome = await outcomeOf(() => repository.patch('Patient', 'p1', [operation as JsonPatchOperation]));
      expect(outcome).toMatchObject({ code: expect.stringMatching(/^(invalid|unprocessable)$/) as string });
    }
    const { meta: _, ...patient } = await repository.read('Patient', 'p1');
    expect(patient).toEqual({ resourceType: 'Patient', id: 'p1', name: [{ family: 'Seen' }] });
  });

  test.each(INHERITED)('%s names nothing', async (name) => {
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => repository.read(name as 'Patient', 'p1'),
      () => repository.read('Patient', name),
      () => repository.search(name as 'Patient', {}),
      () => repository.search('Patient', `${name}=x`),
      () => repository.search('Patient', `_sort=${name}`),
      () => repository.search('Patient', `name:${name}=x`),
      () => repository.search('Patient', `_has:${name}:subject:code=x`),
      () => repository.search('Patient', `organization:${name}.name=x`),
      () => repository.search('Patient', `_filter=${name} eq x`),
      () => repository.search('Patient', `_filter=family ${name} x`),
      () => repository.create(json<Resource>(`{ "resourceType": "${name}" }`)),
      () => signIn(store, { membership: name }),
      () =>
        importBundle(json<Bundle>(`{ "resourceType": "Bundle", "type": "${name}", "entry": [] }`), { store, caller }),
    ];
    for (const attempt of attempts) expect(Object.keys((await outcomeOf(attempt)) as Json)).toEqual(['code']);
    for (const query of [
      `{ ${name} { id } }`,
      `{ PatientList { ${name} } }`,
      `{ PatientList(${name}: "x") { id } }`,
      `{ PatientList { ... on ${name} { id } } }`,
      `{ PatientList(fhirpath: "%${name}") { id } }`,
      `{ PatientList @${name} { id } }`,
      `query ($a: ${name}) { PatientList(name: $a) { id } }`,
      `{ __type(name: "${name}") { name } }`,
    ]) {
      expect([query, await ask(query)]).toSatisfy(([, answer]: [string, unknown]) => {
        const text = JSON.stringify(answer);
        return text === '["invalid"]' || text === '{"__type":null}';
      });
    }
  });

  test.each(INHERITED.filter((name) => !name.startsWith('__')))(
    '%s is an ordinary name of an alias, an operation and a variable',
    async (name) => {
      const query = `query ${name}($${name}: String) { ${name}: PatientList(name: $${name}) { ${name}: id } }`;
      const { data, errors } = await executeFhirGraphql(query, {
        store,
        caller,
        operationName: name,
        variables: json(`{ "${name}": "seen" }`),
      });
      expect(errors).toBeUndefined();
      expect(JSON.stringify(data)).toBe(`{"${name}":[{"${name}":"p1"}]}`);
    },
  );

  async function ask(query: string, variables: Json = {}): Promise<unknown> {
    const { data, errors } = await executeFhirGraphql(query, { store, caller, variables });
    return errors === undefined ? data : errors.map(({ extensions }) => extensions.code);
  }
});

function json<Value = Resource>(text: string): Value {
  return JSON.parse(text) as Value;
}

/** The members of an object, to be spread into another. */
function inner(poison: string): string {
  return poison.slice(poison.indexOf('{') + 1, poison.lastIndexOf('}'));
}

/** The members that every object, array, string and function inherits. */
function inherited(): unknown {
  return [Object, Array, String, Function, Promise, Map].map(({ prototype }) => Reflect.ownKeys(prototype));
}
