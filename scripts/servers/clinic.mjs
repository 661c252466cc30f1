// A clinic with two patients, of whom Ann may see one, and the bearer tokens of a service that knows its members by them.
import {
  createProject,
  createRepository,
  FhirError,
  invite,
  MemoryStore,
  serverCaller,
  signIn,
  systemCaller,
} from 'fhirgraph';

/** @returns the store, the token of Ann, and who is meant by an `Authorization` header */
export async function openClinic() {
  const store = new MemoryStore();
  const setup = serverCaller();
  const { id: project } = await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller: setup });
  const system = { store, caller: systemCaller(project) };
  const repository = createRepository(system);
  for (const [family, gender] of [
    ['Brook', 'female'],
    ['Hill', 'male'],
  ]) {
    await repository.create({ resourceType: 'Patient', name: [{ family }], gender, birthDate: '1970-05-17' });
  }
  const policy = await repository.create({
    resourceType: 'AccessPolicy',
    name: 'Women only',
    resource: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }],
  });
  const ann = { resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org' };
  const access = [{ policy: { reference: `AccessPolicy/${policy.id}` } }];
  const { membership } = await invite(project, { ...ann, membership: { access } }, system);
  const members = new Map([['Bearer ann', membership.id]]);
  return {
    store,
    token: 'ann',
    async callerOf(authorization) {
      // A fault of the host itself, which no client may be told of.
      if (authorization === 'Bearer fault') throw new Error('The key of the tokens cannot be read');
      const member = members.get(authorization);
      if (member === undefined) throw new FhirError('unauthenticated', 'A bearer token is needed');
      return signIn(store, { membership: member });
    },
  };
}
