// Uses the installed package with better-sqlite3: what one process wrote, a second store over the same file answers.
import assert from 'node:assert/strict';
import { executeFhirGraphql, importBundle, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';

const caller = systemCaller('clinic');
const resource = { resourceType: 'Patient', id: 'ann', name: [{ family: 'Lee' }] };
const entry = [{ resource, request: { method: 'PUT', url: 'Patient/ann' } }];

const writer = new SqliteStore('clinic.db');
await importBundle({ resourceType: 'Bundle', type: 'transaction', entry }, { store: writer, caller });
await writer.close();

const store = new SqliteStore('clinic.db');
const { data } = await executeFhirGraphql('{ PatientList(family: "lee") { name { family } } }', { store, caller });
assert.deepEqual(JSON.parse(JSON.stringify(data)), { PatientList: [{ name: [{ family: 'Lee' }] }] });
await store.close();
console.log('answers');
