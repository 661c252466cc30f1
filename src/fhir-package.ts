// FHIR packages of the host, read from its file system. Only this entry and those of the stores need Node.js.

export { readFhirPackage, type FhirPackage } from './fhir-package/read-fhir-package.js';
