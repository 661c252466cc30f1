// A guarded service with an invitation, asked as MedplumClient would: what every bundler has to carry.
import assert from 'node:assert/strict';
import { createProject, invite, MemoryStore, serverCaller, signIn, systemCaller } from 'fhirgraph';
import { createFhirHandler, toFetch } from 'fhirgraph/http';

async function main() {
  const store = new MemoryStore();
  const { id } = await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller: serverCaller() });
  const ann = { resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org' };
  const { membership } = await invite(id, ann, { store, caller: systemCaller(id) });
  const baseUrl = 'https://clinic.example/fhir/R4';
  const handler = createFhirHandler({
    store,
    baseUrl,
    audit: false,
    signIn: (request) =>
      request.headers.get('authorization') === 'Bearer ann' ? signIn(store, { membership: membership.id }) : undefined,
  });
  const send = toFetch(handler);
  const headers = { authorization: 'Bearer ann', 'content-type': 'application/fhir+json' };
  const body = JSON.stringify({ resourceType: 'Patient', name: [{ family: 'Müller' }, { family: 'Smith' }] });
  const created = await send(`${baseUrl}/Patient`, { method: 'POST', headers, body });
  assert.equal(created.status, 201);
  // FHIRPath is loaded when it is needed, which bundlers must see.
  const query = `{ PatientList(name: "muller") { name(fhirpath: "family.startsWith('M')") { family } } }`;
  const graphql = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } };
  const answer = await send(`${baseUrl}/$graphql`, { ...graphql, body: JSON.stringify({ query }) });
  assert.deepEqual((await answer.json()).data, { PatientList: [{ name: [{ family: 'Müller' }] }] });
  assert.equal((await send(`${baseUrl}/Patient`)).status, 401);
  return 'answers';
}

export const answer = main();
void answer.then(console.log, (error) => {
  console.error(error);
  process.exitCode = 1;
});
