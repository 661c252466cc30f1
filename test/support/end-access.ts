// A process that ends the access of members: `node --import tsx end-access.ts SQLITE_FILE|POSTGRES_JSON PROJECT`. Each line of
// its input is a change and a membership; it answers `done` when the change is committed.

import { createInterface } from 'node:readline';
import pg from 'pg';
import {
  createRepository,
  removeMember,
  revokeSessions,
  serverCaller,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';

const [place, project] = process.argv.slice(2) as [string, string];
const pool = place.startsWith('{') ? new pg.Pool(JSON.parse(place) as pg.PoolConfig) : undefined;
const store = pool === undefined ? new SqliteStore(place) : new PostgresStore(pool);
const context = { store, caller: systemCaller(project) };
const repository = createRepository({ store, caller: serverCaller(project) });

const CHANGES: { readonly [change: string]: (membership: string) => Promise<unknown> } = {
  patient: () => repository.create({ resourceType: 'Patient', gender: 'female' }),
  deactivate: (membership) => updateMember(membership, { active: false }, context),
  remove: (membership) => removeMember(membership, context),
  revoke: (membership) => revokeSessions({ membership }, context),
  policy: async () => repository.update({ ...(await repository.read('AccessPolicy', 'staff')), name: 'changed' }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const [change, membership] = line.split(' ') as [string, string];
  await CHANGES[change]!(membership);
  console.log('done');
}
await store.close();
await pool?.end();
