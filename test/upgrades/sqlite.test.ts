import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { erasePatient, eraseResource, removeMember, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../src/stores/sqlite/schema/prepare-schema.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { IS_WHOLE, someOf } from '../support/chance.js';
import { useRealScrypt } from '../support/cheap-scrypt.js';
import { writeClinic } from './clinic.js';
import { type Fixture, SQLITE_FIXTURES } from './fixtures.js';
import { upgradeSuite } from './suite.js';

// One fixture is written before the suite begins.
useRealScrypt();
const fileNamed = temporaryFolder();
let files = 0;

/** `npm test` opens the database of a release, and that of the oldest schema. */
const FEW = someOf(SQLITE_FIXTURES, 2);

/** A fixture as the script would write it for the next release. It must answer like the others. */
async function writePresent(): Promise<Fixture<Buffer>> {
  const file = fileNamed('present.db');
  const store = new SqliteStore(file, { synchronous: 'off' });
  const facts = await writeClinic(store);
  await store.close();
  return { version: 'of this code', content: readFileSync(file), facts };
}

upgradeSuite(IS_WHOLE ? [...SQLITE_FIXTURES, await writePresent()] : FEW, (content) => {
  const file = fileNamed(`${(files += 1)}.db`);
  writeFileSync(file, content);
  return new SqliteStore(file, { synchronous: 'off', takeOver: true });
});

test.each(FEW)('no byte of an erased resource remains in a file of $version', async ({ content, facts }) => {
  const file = fileNamed(`erased-${(files += 1)}.db`);
  writeFileSync(file, content);
  const store = new SqliteStore(file, { takeOver: true });
  // Texts and their folded forms in the index, also of replaced versions and of deleted resources.
  const words = ['Dale', 'dale', 'Married', 'married', 'St. Gallen', 'st. gallen', 'Gone', 'gone'].filter((word) =>
    holds(file, word),
  );
  expect(words).toEqual(expect.arrayContaining(['Dale', 'Married', 'St. Gallen', 'Gone']));
  const context = { store, caller: systemCaller(facts.project), reason: 'patient-request' } as const;
  await removeMember(facts.members['Rex']!, context);
  await eraseResource('Patient', 'gone', context);
  await erasePatient('bob', context);
  // The id of an erased resource stays.
  const isId = (word: string): boolean => word === 'gone';
  expect(words.filter((word) => !isId(word) && holds(file, word))).toEqual([]);
  await store.close();
  expect(words.filter((word) => !isId(word) && holds(file, word))).toEqual([]);
});

function holds(file: string, word: string): boolean {
  return ['', '-wal'].some((end) => existsSync(file + end) && readFileSync(file + end).includes(word));
}

test('every earlier version of the schema has a fixture', () => {
  // The schema version is at byte 60 of a SQLite file. See https://sqlite.org/fileformat.html#user_version_number.
  const versions = SQLITE_FIXTURES.map(({ content }) => content.readUInt32BE(60));
  const older = Array.from({ length: SCHEMA_VERSION - 1 }, (_, index) => index + 1);
  expect(versions).toEqual(expect.arrayContaining(older));
});
