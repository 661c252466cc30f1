// The shortest useful life: import, open the file that sqlite.mjs wrote, answer one query.
import { executeFhirGraphql, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';

const store = new SqliteStore('clinic.db');
await executeFhirGraphql('{ Patient(id: "ann") { name { family } } }', { store, caller: systemCaller('clinic') });
await store.close();
