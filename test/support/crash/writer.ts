// Writes to a SQLite store until it is killed or was refused three times: `node --import tsx writer.ts FILE NAME SEED`.
// It reports on its standard output each commit before and after; see WriterLine.

import Database from 'better-sqlite3';
import { writeSync } from 'node:fs';
import { FhirError } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { createRandom, keyOf, put, queryOf } from '../kit.js';
import { type MarkedWrite, markedResource, nextTransaction, type WriterLine } from './transactions.js';

const [file, name, seed] = process.argv.slice(2) as [string, string, string];
const random = createRandom(Number(seed));

say({ kind: 'opening' });
const database = new Database(file);
const store = new SqliteStore(database, { takeOver: true });
// Half of the writers move the log into the file every few commits and spill pages that are not committed yet, which
// otherwise happens only with much more data.
if (random() < 0.5) {
  database.pragma('wal_autocheckpoint = 40');
  database.pragma('cache_size = 20');
}
const { matches } = await store.search(queryOf('Observation'));
const living = matches.map(({ resource }) => resource.id!);

let failures = 0;
for (let count = 1; failures < 3; count++) {
  const before = [...living];
  const writes = nextTransaction(living, `${name}-${count}`, random);
  say({ kind: 'try', writes });
  try {
    const results = await store.commit(writes.map(toWrite));
    say({ kind: 'done', versions: results.map((result) => ('versionId' in result ? (result.versionId ?? '') : '')) });
  } catch (error) {
    say({ kind: 'failed', code: error instanceof FhirError ? error.code : String(error) });
    living.splice(0, Infinity, ...before);
    failures += 1;
  }
}

function toWrite(write: MarkedWrite): Parameters<SqliteStore['commit']>[0][number] {
  if (write.mark === null) return { kind: 'delete', key: keyOf(write.type, write.id) };
  return put(markedResource(write));
}

/** Not through a stream: a message must have left the process before anything else happens. */
function say(line: WriterLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
