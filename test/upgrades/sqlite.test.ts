import { writeFileSync } from 'node:fs';
import { SqliteStore } from 'fhirgraph/sqlite';
import { expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../src/stores/sqlite/prepare-schema.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { SQLITE_FIXTURES } from './fixtures.js';
import { upgradeSuite } from './suite.js';

const fileNamed = temporaryFolder();
let files = 0;

upgradeSuite(SQLITE_FIXTURES, (content) => {
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
