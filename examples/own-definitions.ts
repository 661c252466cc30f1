import { createFhirGraphql, defineField, type FhirGraphql, MemoryStore, type ResourceStore } from 'fhirgraph';
import { extendDefinitions, R4 } from 'fhirgraph/definitions';
import { readFhirPackage } from 'fhirgraph/fhir-package';
import { usCoreExcerpt } from './own-definitions/us-core-excerpt.js';

// A field, a root field, three search parameters and the US Core profiles: `npm run example:own-definitions`.

const own = 'https://clinic.example';
const parameter = (base: string, code: string, type: string, expression: string, description: string) => ({
  ...({ resourceType: 'SearchParameter', status: 'active', url: `${own}/${code}`, name: code } as const),
  ...{ code, base: [base], type, expression, description },
});
const reports = `Observation.extension('${own}/reports').value.ofType(integer)`;
const searchParameters = [
  parameter('Patient', 'ward', 'token', `Patient.extension('${own}/ward').value.ofType(Coding)`, 'The ward'),
  parameter('Encounter', 'reason-text', 'string', 'Encounter.reasonCode.text', 'Why the patient came, in words'),
  parameter('Observation', 'report-count', 'number', reports, 'How often it was reported'),
];

const riskScore = defineField('Patient', {
  type: 'Float!',
  description: 'The risk of a fall, from 0 to 1',
  needs: ['birthDate'],
  resolve: (patients) => patients.map(({ birthDate = '2000' }) => (birthDate < '1960' ? 0.8 : 0.1)),
});
const hospital = defineField('Query', {
  type: 'String!',
  description: 'Where you are',
  resolve: () => 'General Hospital',
});

/** @param folder of the unpacked package hl7.fhir.us.core; without it an excerpt serves */
export async function ownService(folder?: string): Promise<{ graphql: FhirGraphql; store: ResourceStore }> {
  const usCore = folder === undefined ? usCoreExcerpt : await readFhirPackage(folder);
  const given = [...(usCore.searchParameters ?? []), ...searchParameters];
  const store = new MemoryStore({ model: await extendDefinitions(R4, { ...usCore, searchParameters: given }) });
  return { store, graphql: createFhirGraphql({ store, fields: { Patient: { riskScore }, Query: { hospital } } }) };
}
