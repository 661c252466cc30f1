// CommonJS hosts: Node.js 22.12 and later load ES modules from `require`.
const assert = require('node:assert/strict');
const { executeFhirGraphql, FhirError, MemoryStore, systemCaller } = require('fhirgraph');
const { PostgresStore } = require('fhirgraph/postgres');
const { SqliteStore } = require('fhirgraph/sqlite');
const { createSubject } = require('fhirgraph/store');
const { withTelemetry } = require('fhirgraph/telemetry');
const { storeConformance } = require('fhirgraph/testing');

const loaded = [FhirError, PostgresStore, SqliteStore, createSubject, withTelemetry, storeConformance];
assert.ok(loaded.every((one) => typeof one === 'function'));
executeFhirGraphql('{ PatientList { id } }', { store: new MemoryStore(), caller: systemCaller('clinic') })
  .then(({ data }) => {
    assert.equal(JSON.stringify(data), '{"PatientList":[]}');
    console.log('answers');
  })
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
