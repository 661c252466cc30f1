import { expect, test } from 'vitest';
import { pglitePool, PostgresStore } from 'fhirgraph/postgres';
import packageJson from '../../package.json' with { type: 'json' };
import { bareDatabase } from '../stores/postgres/pool.js';
import { POSTGRES_FIXTURES, SQLITE_FIXTURES } from './fixtures.js';
import { upgradeSuite } from './suite.js';

upgradeSuite(POSTGRES_FIXTURES, async (content) => {
  const database = await bareDatabase();
  await database.exec(content);
  return new PostgresStore(pglitePool(database), { takeOver: true });
});

test('the version of the package has a fixture for each store', () => {
  for (const fixtures of [SQLITE_FIXTURES, POSTGRES_FIXTURES]) {
    expect(fixtures.map(({ version }) => version)).toContain(packageJson.version);
  }
});
