// Compiled against the installed package's declarations, and against src by `npm run typecheck`.
import { executeFhirGraphql, FhirError, MemoryStore, systemCaller, type ResourceStore } from 'fhirgraph';
import { type PostgresPool, PostgresStore } from 'fhirgraph/postgres';
import type { FhirHandler } from 'fhirgraph/http';
import { SqliteStore } from 'fhirgraph/sqlite';
import { createSubject, matches, R4 } from 'fhirgraph/store';
import { dataIdFromObject, getDataID, keys, possibleTypes } from 'fhirgraph/client';
import { createCounters, withTelemetry } from 'fhirgraph/telemetry';
import { storeConformance } from 'fhirgraph/testing';
import type { Patient } from 'fhirgraph/types';

const stores: ResourceStore[] = [new MemoryStore(), new SqliteStore('clinic.db', { synchronous: 'normal' })];
declare const pool: PostgresPool;
stores.push(new PostgresStore(pool), new PostgresStore({ writer: pool, readers: pool }, { partitions: 8 }));
const id: string | undefined = dataIdFromObject({ cache_key: 'Patient/1' }) ?? getDataID({});
void [id, keys['Patient']?.({}), possibleTypes.Resource.length];
stores.push(withTelemetry(new MemoryStore(), { meter: createCounters() }));
const patient: Patient = { resourceType: 'Patient', id: 'ann' };

for (const store of stores) {
  const caller = systemCaller('clinic');
  await store.commit([
    { kind: 'put', key: { project: caller.project, type: patient.resourceType, id: 'ann' }, resource: patient },
  ]);
  const result = await executeFhirGraphql('query ($id: ID!) { Patient(id: $id) { id } }', {
    store,
    caller,
    variables: { id: 'ann' },
  });
  console.log(result.data, result.errors?.[0]?.message);
  // @ts-expect-error a caller is required
  await executeFhirGraphql('{ PatientList { id } }', { store });
}

declare const handler: FhirHandler;
/** As Next.js types route handlers. */
const route: (request: Request, context: { params: Promise<{ path: string[] }> }) => Response | Promise<Response> =
  handler;
void route;

const world = { find: () => undefined, referencing: () => [] };
console.log(matches({ kind: 'all' }, createSubject(R4, patient, 0), world));

storeConformance({ test: (name, run) => void [name, run] }, () => new MemoryStore());

try {
  systemCaller('no id!');
} catch (error) {
  if (error instanceof FhirError && error.code === 'invalid') console.log(error.outcome.issue);
}
