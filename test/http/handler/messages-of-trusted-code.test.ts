import { expect, test } from 'vitest';
import { createFhirHandler } from '../../../src/http.js';
import { type Caller, MemoryStore, serverCaller, systemCaller } from '../../../src/index.js';

// A host may sign in a client as trusted code; the client cannot call functions of the library.

const user = { resourceType: 'User', firstName: 'A', lastName: 'B', email: 'a@x.org' };
const secret = { resourceType: 'Project', id: 'clinic', superAdmin: true };

test.each<[string, string, object | undefined, Caller, number]>([
  ['POST', 'fhir/R4/User', user, systemCaller('clinic'), 403],
  ['PUT', 'fhir/R4/Project/clinic', secret, systemCaller('clinic'), 403],
  ['PUT', 'fhir/R4/Project/other', { resourceType: 'Project', id: 'other' }, systemCaller('clinic'), 403],
  ['DELETE', 'fhir/R4/Project/clinic', undefined, systemCaller('clinic'), 403],
  ['POST', 'fhir/R4/Patient', { resourceType: 'Patient' }, serverCaller(), 403],
  ['POST', 'fhir/R4/SearchParameter', { resourceType: 'SearchParameter' }, systemCaller('clinic'), 201],
  ['GET', 'admin/projects/other', undefined, systemCaller('clinic'), 403],
  ['DELETE', 'admin/projects/other?name=x', undefined, systemCaller('clinic'), 403],
  ['POST', 'admin/projects/other/erase-patient', { id: 'a', reason: 'consent withdrawn' }, systemCaller('clinic'), 403],
  ['GET', 'admin/projects/other/export', undefined, systemCaller('clinic'), 403],
])('%s %s names no function', async (method, path, body, caller, expected) => {
  const handler = createFhirHandler({
    store: new MemoryStore(),
    baseUrl: 'https://clinic.example/fhir/R4',
    signIn: () => caller,
    audit: false,
  });
  const headers = { 'content-type': 'application/fhir+json' };
  const request = new Request(`https://clinic.example/${path}`, {
    ...{ method, headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const response = await handler(request);
  const text = `${await response.text()} ${response.headers.get('warning') ?? ''}`;
  expect(text).not.toMatch(/[a-z][A-Z]\w*\(|extendDefinitions/);
  expect(response.status).toBe(expected);
});
