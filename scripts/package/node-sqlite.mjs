// The conformance kit over SQLite as the runtime itself brings it.
import { DatabaseSync } from 'node:sqlite';
import { SqliteStore } from 'fhirgraph/sqlite';
import { runKit } from './run-kit.mjs';

const count = await runKit(() => new SqliteStore(new DatabaseSync(':memory:')));
console.log(`${count} cases of the kit pass over node:sqlite`);
