import { expect, test } from 'vitest';
import { moveProject } from '../../examples/move-project.js';
import {
  createProject,
  executeFhirGraphql,
  invite,
  MemoryStore,
  serverCaller,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';

test('a project moves with its members from one store to another, and a repetition does no harm', async () => {
  const from = new SqliteStore(':memory:');
  const setup = { store: from, caller: serverCaller() };
  const { id } = await createProject({ resourceType: 'Project', name: 'Clinic' }, setup);
  const project = id;
  const ann = { resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org' } as const;
  const { user } = await invite(project, ann, { store: from, caller: systemCaller(project) });
  await from.commit(
    Array.from({ length: 1_200 }, (_, index) => ({
      kind: 'put',
      key: { project, type: 'Patient', id: `p${index}` },
      resource: { resourceType: 'Patient', id: `p${index}`, ...{ gender: index % 2 === 0 ? 'female' : 'male' } },
    })),
  );

  const to = new MemoryStore();
  const types = ['Practitioner', 'ProjectMembership', 'Patient'];
  expect(await moveProject(from, to, project, types)).toMatchObject({ created: 1_204, failed: 0 });
  expect(await moveProject(from, to, project, types)).toMatchObject({ created: 0, unchanged: 1_204, failed: 0 });

  const caller = await signIn(to, { project, user: `User/${user.id}` });
  const query = '{ PatientConnection(gender: "female", _count: 1) { count } }';
  expect((await executeFhirGraphql(query, { store: to, caller })).data).toEqual({ PatientConnection: { count: 600 } });
  await from.close();
});
