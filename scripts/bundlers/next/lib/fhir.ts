import { MemoryStore, systemCaller } from 'fhirgraph';
import { createFhirHandler } from 'fhirgraph/http';

export const handler = createFhirHandler({
  store: new MemoryStore(),
  baseUrl: 'https://clinic.example/fhir/R4',
  audit: false,
  signIn: (request) => (request.headers.get('authorization') === 'Bearer ann' ? systemCaller('clinic') : undefined),
});
