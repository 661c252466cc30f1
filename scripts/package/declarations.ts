// A host that emits declarations of what it exports, without annotations.
import { createFhirGraphql, createRepository, executeFhirGraphql, invite, signIn, systemCaller } from 'fhirgraph';
import { createFhirHandler, toFetch, toNodeListener } from 'fhirgraph/http';
import { SqliteStore } from 'fhirgraph/sqlite';
import { createTestService } from 'fhirgraph/test-service';

export const store = new SqliteStore(':memory:');
export const context = { store, caller: systemCaller('clinic') };
export const repository = createRepository(context);
export const readPatient = (id: string) => repository.read('Patient', id);
export const findPatients = (name: string) => repository.search('Patient', { name });
export const service = createFhirGraphql({ store });
export const answer = (query: string) => executeFhirGraphql(query, context);
export const caller = (membership: string) => signIn(store, { membership });
export const admit = (email: string) =>
  invite('clinic', { resourceType: 'Patient', firstName: 'Ann', lastName: 'Lee', email }, context);
export const handler = createFhirHandler({
  store,
  baseUrl: 'https://clinic.example/fhir/R4',
  audit: false,
  signIn: () => undefined,
});
export const send = toFetch(handler);
export const listener = toNodeListener(handler);
export const tested = () => createTestService();
