import type { Patient } from '@medplum/fhirtypes';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { put, queryOf } from '../../../src/testing/conformance-case.js';
import { IS_WHOLE, SEED } from '../../support/chance.js';
import { runDamageTrials } from '../../support/damage-trials.js';
import { tallyOf } from '../../support/long-report.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const TRIALS = IS_WHOLE ? 60 : 12;
const tally = tallyOf('damaged files, SQLite (a few)');

test('damage anywhere in a file is reported, found by verify, or without effect; npm run test:long has thousands', async () => {
  const outcome = await runDamageTrials(fileNamed, { trials: TRIALS, seed: SEED, tally });
  expect(outcome.refused + outcome.told + outcome.foundByVerify + outcome.harmless).toBe(TRIALS);
  // A few trials may all hit bytes that no answer needs.
  if (IS_WHOLE) expect(outcome.told).toBeGreaterThan(0);
});

test('a search over a damaged list of parameters is corrupt', async () => {
  const file = fileNamed('shape.db');
  const store = new SqliteStore(file);
  const born: Patient = { resourceType: 'Patient', id: 'p1', birthDate: '1970-01-01' };
  await store.commit([put(born)]);
  await store.close();
  const database = new Database(file);
  expect(database.prepare("UPDATE shape SET parameters = '[1,'").run().changes).toBeGreaterThan(0);
  database.close();
  const damaged = new SqliteStore(file);
  const query = queryOf('Patient', { kind: 'missing', parameter: 'birthdate', missing: true });
  await expect(damaged.search({ ...query, total: true })).rejects.toMatchObject({ code: 'corrupt' });
  await damaged.close();
});
