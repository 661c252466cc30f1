// Uses the installed package without better-sqlite3: the memory store answers, the SQLite store says what is missing.
import assert from 'node:assert/strict';
import { executeFhirGraphql, importBundle, MemoryStore, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { storeConformance } from 'fhirgraph/testing';

const store = new MemoryStore();
const caller = systemCaller('clinic');
const resource = { resourceType: 'Patient', id: 'ann', birthDate: '1970-01-01' };
const entry = [{ resource, request: { method: 'PUT', url: 'Patient/ann' } }];
await importBundle({ resourceType: 'Bundle', type: 'transaction', entry }, { store, caller });

const { data, errors } = await executeFhirGraphql('{ PatientList(birthdate: "1970") { id } }', { store, caller });
assert.equal(errors, undefined);
assert.deepEqual(JSON.parse(JSON.stringify(data)), { PatientList: [{ id: 'ann' }] });

assert.throws(() => new SqliteStore(':memory:'), /better-sqlite3/);

let suites = 0;
storeConformance({ test: () => suites++ }, () => new MemoryStore());
assert.ok(suites > 0);
console.log('answers');
