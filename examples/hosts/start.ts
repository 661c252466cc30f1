import { createProject, initialize, invite, type ResourceStore } from 'fhirgraph';
import type { Tokens } from './tokens.js';

/** Makes a clinic with one administrator in an empty store and prints how to ask it something. */
export async function welcome(store: ResourceStore, tokens: Tokens, baseUrl: string): Promise<void> {
  const { caller } = await initialize(store, { name: 'Operations' });
  const { id } = await createProject({ resourceType: 'Project', name: 'Riverside Clinic' }, { store, caller });
  const project = `Project/${id}`;
  const ada = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Stone', email: 'ada@example.org' } as const;
  const { user } = await invite(project, { ...ada, admin: true }, { store, caller });
  const token = await tokens.sign({ sub: `User/${user.id}`, project }, '1h');
  console.log(`Listening. Ask as Ada Stone, for an hour:

curl ${baseUrl}/\\$graphql -H 'content-type: application/json' -H 'authorization: Bearer ${token}' \\
  -d '{ "query": "{ PractitionerList { name { given family } } }" }'
`);
}
