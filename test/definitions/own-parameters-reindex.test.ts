import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import { createRepository, signIn } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { signedIn } from '../repository/harness.js';
import {
  describeNewParameters,
  fill,
  found,
  model,
  OLD_WARD,
  QUESTIONS,
  ward,
  type OpenStore,
} from './reindex-cases.js';

describeNewParameters('SQLite', async () => {
  const database = new Database(':memory:');
  return (model) => new SqliteStore(database, { model, takeOver: true, reindex: 'manual' });
});

test('a member with a policy that uses a new parameter cannot sign in until it is complete', async () => {
  const database = new Database(':memory:');
  const open: OpenStore = (model) => new SqliteStore(database, { model, takeOver: true, reindex: 'manual' });
  const before = open(model);
  await fill(before);
  const { membership } = await signedIn(before, {
    rules: [{ resourceType: 'Patient', criteria: 'Patient?ward=a' }],
  });
  const changed = open(await extendDefinitions(R4, { searchParameters: [ward(OLD_WARD)] }));
  await expect(signIn(changed, { membership })).rejects.toMatchObject({ code: 'unavailable' });
  await changed.reindex({ pendingOnly: true });
  const caller = await signIn(changed, { membership });
  const { entry = [] } = await createRepository({ store: changed, caller }).search('Patient', '');
  expect(entry.map(({ resource }) => resource!.id)).toEqual(['bob']);
});

test('a small file is indexed when it is opened', async () => {
  const database = new Database(':memory:');
  await fill(new SqliteStore(database));
  const store = new SqliteStore(database, { model, takeOver: true });
  for (const question of QUESTIONS) expect(await found(store, question), question[1]).toEqual(question[2]);
});
