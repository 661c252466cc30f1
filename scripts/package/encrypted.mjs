// An encrypted build of better-sqlite3 by the door of an open database, as docs/how-to/sqlite.md shows it.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3-multiple-ciphers';
import { createRepository, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { runKit } from './run-kit.mjs';

const FILE = 'encrypted.db';
rmSync(FILE, { force: true });

function open(key) {
  const database = new Database(FILE);
  database.pragma(`key = '${key}'`);
  return database;
}

const caller = systemCaller('clinic');
for (const expected of [1, 2]) {
  const database = open('right');
  const store = new SqliteStore(database);
  const repository = createRepository({ store, caller });
  await repository.create({ resourceType: 'Patient', name: [{ family: 'Wachholder' }] });
  assert.equal((await repository.search('Patient', 'family=wachholder&_total=accurate')).total, expected);
  await store.close();
  database.close();
}
const bytes = readFileSync(FILE);
assert.equal(bytes.includes('Wachholder') || bytes.includes('SQLite format'), false);
assert.throws(() => new SqliteStore(open('wrong')), { code: 'corrupt' });
assert.throws(() => new SqliteStore(FILE), { code: 'corrupt' });
for (const name of ['encrypted-copy.db', 'encrypted-copy.db-wal']) rmSync(name, { force: true });
const original = open('right');
await new SqliteStore(original).backup('encrypted-copy.db');
original.close();
const copied = readFileSync('encrypted-copy.db');
assert.equal(copied.includes('Wachholder') || copied.includes('SQLite format'), false);
const copy = new Database('encrypted-copy.db');
copy.pragma("key = 'right'");
assert.equal((await createRepository({ store: new SqliteStore(copy), caller }).search('Patient')).entry.length, 2);
copy.close();
const count = await runKit(() => new SqliteStore(new Database(':memory:')));
console.log(`an encrypted file and its backup hold no plain text, ${count} cases of the kit pass`);
