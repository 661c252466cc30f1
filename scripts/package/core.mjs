// The core on whatever runtime runs this: the whole conformance kit over the memory store, then projects, policies and
// GraphQL from an empty store to a guarded answer.
import assert from 'node:assert/strict';
import {
  createProject,
  createRepository,
  executeFhirGraphql,
  invite,
  MemoryStore,
  signIn,
  serverCaller,
  systemCaller,
} from 'fhirgraph';
import { runKit } from './run-kit.mjs';

const cases = await runKit(() => new MemoryStore());
const store = new MemoryStore();
const { id } = await createProject(
  { resourceType: 'Project', name: 'Clinic', strictMode: true },
  { store, caller: serverCaller() },
);
const body = { resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org' };
const { membership } = await invite(id, body, { store, caller: systemCaller(id) });
const caller = await signIn(store, { membership: membership.id });
const repository = createRepository({ store, caller });
const patient = await repository.create({
  resourceType: 'Patient',
  name: [{ family: 'Müller' }],
  birthDate: '1970-05-17',
});
await repository.create({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'Pulse' },
  subject: { reference: `Patient/${patient.id}` },
});
const query = `{
  PatientList(name: "muller", birthdate: "1970") {
    name(fhirpath: "family.startsWith('M')") { family }
    ObservationList(_reference: subject) { code { text } subject { resource { ... on Patient { birthDate } } } }
  }
}`;
const { data, errors } = await executeFhirGraphql(query, { store, caller });
assert.equal(errors, undefined);
assert.deepEqual(JSON.parse(JSON.stringify(data)), {
  PatientList: [
    {
      name: [{ family: 'Müller' }],
      ObservationList: [{ code: { text: 'Pulse' }, subject: { resource: { birthDate: '1970-05-17' } } }],
    },
  ],
});
console.log(`${cases} cases of the kit pass, a guarded query answers`);
