// A CommonJS host in TypeScript: compiled by tsc, and types are found.
import fhirgraph = require('fhirgraph');
import http = require('fhirgraph/http');

const { executeFhirGraphql, MemoryStore, systemCaller } = fhirgraph;
const store = new MemoryStore();
const handler: http.FhirHandler = http.createFhirHandler({
  store,
  baseUrl: 'https://clinic.example/fhir/R4',
  audit: false,
  signIn: () => systemCaller('clinic'),
});

async function main(): Promise<string> {
  const { data } = await executeFhirGraphql('{ PatientList { id } }', { store, caller: systemCaller('clinic') });
  if (JSON.stringify(data) !== '{"PatientList":[]}') throw new Error('The query was not answered');
  const { status } = await handler(new Request('https://clinic.example/fhir/R4/Patient'));
  if (status !== 200) throw new Error(`The search was answered with ${status}`);
  return 'answers';
}

void main().then(console.log, (error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
