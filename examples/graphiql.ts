import { createProject, importBundle, initialize, invite, MemoryStore, systemCaller } from 'fhirgraph';
import { createTokens } from './hosts/tokens.js';
import { generateSample } from './sample-data.js';
import { ENDPOINT, yogaHost } from './yoga/server.js';

// GraphiQL over made-up data, on GraphQL Yoga. Run it with `npm run example:graphiql` and open the address that it prints.

const PORT = Number(process.env.PORT ?? 8080);
const TYPES = ['Patient', 'Practitioner', 'Organization', 'Encounter', 'Condition', 'Observation', 'MedicationRequest'];
const QUERY = `# Ctrl+Space completes, Ctrl+Enter runs.
{
  PatientList(_count: 3) {
    name { given family }
    birthDate
    ObservationList(_reference: subject, _count: 2) {
      code { text }
      valueQuantity { value unit }
    }
  }
}
`;

const store = new MemoryStore();
const tokens = await createTokens();
const { caller } = await initialize(store, { name: 'Operations' });
const { id } = await createProject({ resourceType: 'Project', name: 'Riverside Clinic' }, { store, caller });
for (const bundle of generateSample({ patients: 20 })) await importBundle(bundle, { store, caller: systemCaller(id) });
const ada = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' } as const;
const { user } = await invite(id, ada, { store, caller });
const token = await tokens.sign({ sub: `User/${user.id}`, project: id }, '8h');

yogaHost({ store, tokens, token, query: QUERY, introspection: { types: TYPES } }).listen(PORT, '127.0.0.1', () => {
  console.log(`GraphiQL: http://127.0.0.1:${PORT}${ENDPOINT}`);
});
