import { readFileSync, writeFileSync } from 'node:fs';
import { SqliteStore } from 'fhirgraph/sqlite';
import { expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../src/stores/sqlite/prepare-schema.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { useRealScrypt } from '../support/cheap-scrypt.js';
import { writeClinic } from './clinic.js';
import { type Fixture, SQLITE_FIXTURES } from './fixtures.js';
import { upgradeSuite } from './suite.js';

// Other processes made the hashes of the fixtures.
useRealScrypt();
const fileNamed = temporaryFolder();
let files = 0;

/** What the script for the next release would write: it has to be found as it was written, like the others. */
async function writePresent(): Promise<Fixture<Buffer>> {
  const file = fileNamed('present.db');
  const store = new SqliteStore(file, { synchronous: 'off' });
  const facts = await writeClinic(store);
  await store.close();
  return { version: 'of this code', content: readFileSync(file), facts };
}

upgradeSuite([...SQLITE_FIXTURES, await writePresent()], (content) => {
  const file = fileNamed(`${(files += 1)}.db`);
  writeFileSync(file, content);
  return new SqliteStore(file, { synchronous: 'off' });
});

test('every form of the tables before the present one has a fixture', () => {
  // The schema version stands at byte 60 of a SQLite file. See https://sqlite.org/fileformat.html#user_version_number.
  const versions = SQLITE_FIXTURES.map(({ content }) => content.readUInt32BE(60));
  const older = Array.from({ length: SCHEMA_VERSION - 1 }, (_, index) => index + 1);
  expect(versions).toEqual(expect.arrayContaining(older));
});
