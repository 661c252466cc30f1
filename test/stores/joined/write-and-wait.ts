import Database from 'better-sqlite3';
import { createRepository, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';

// Writes on both sides in a transaction of the host, says so, and waits to be killed.
const database = new Database(process.argv[2]);
const store = new SqliteStore(database);
database.exec('BEGIN IMMEDIATE');
const repository = createRepository({ store: store.join(), caller: systemCaller('clinic') });
await repository.update({ resourceType: 'Patient', id: 'lost' });
database.prepare("INSERT INTO appointment VALUES ('lost')").run();
console.log('written');
setInterval(() => undefined, 1_000);
