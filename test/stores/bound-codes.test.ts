import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MemoryStore, type ResourceStore } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { type FhirModel, R4 } from '../../src/store.js';
import { idsOf, putAll, queryOf, resourceOf } from '../support/kit.js';
import { parseFilter } from '../../src/search/parse/filter/parse-filter.js';
import { parseParameter } from '../../src/search/parse/parse-parameter.js';
import { modelWith } from './models.js';
import { postgresPool } from './postgres/pool.js';

const STATUS = 'http://hl7.org/fhir/observation-status';
const GENDER = 'http://hl7.org/fhir/administrative-gender';
/** R4 has no parameter over two bindings, but applications can define one. */
const MODEL = modelWith('Patient', {
  marks: { type: 'token', expression: 'Patient.gender | Patient.link.type', path: [['gender'], ['link', 'type']] },
});

describe.each<[string, (model: FhirModel) => ResourceStore | Promise<ResourceStore>]>([
  ['memory', (model) => new MemoryStore({ model })],
  ['SQLite', (model) => new SqliteStore(':memory:', { model })],
  ['PostgreSQL', async (model) => new PostgresStore(await postgresPool(), { model })],
])('bound codes on %s', (_, open) => {
  let store: ResourceStore;
  beforeAll(async () => {
    store = await open(MODEL);
    const about = (patient: string): object => ({ subject: { reference: `Patient/${patient}` } });
    await putAll(
      store,
      resourceOf('Patient', 'man', { gender: 'male' }),
      resourceOf('Patient', 'woman', { gender: 'female' }),
      resourceOf('Patient', 'linked', { gender: 'male', link: [{ other: {}, type: 'refer' }] }),
      resourceOf('Patient', 'nobody'),
      resourceOf('Observation', 'final', {
        status: 'final',
        ...about('man'),
        valueCodeableConcept: { coding: [{ code: 'c5' }] },
      }),
      resourceOf('Observation', 'draft', { status: 'preliminary', ...about('woman') }),
    );
  });
  afterAll(() => store.close());

  test.each<[string, string, readonly string[]]>([
    ['Observation', `status eq "|final"`, ['final']],
    ['Observation', `status ne "final"`, ['draft']],
    ['Observation', `status ne "|final"`, ['draft']],
    ['Observation', `status ne "${STATUS}|final"`, ['draft']],
    ['Observation', `status ne "urn:other|final"`, ['draft', 'final']],
    ['Observation', `status ne "${STATUS}|"`, []],
    ['Observation', `status ne "urn:other|"`, ['draft', 'final']],
    ['Observation', `not (status ne "|final")`, ['final']],
    ['Observation', `subject:Patient.gender ne "|male"`, ['draft']],
    ['Patient', `gender ne "|male"`, ['woman']],
    ['Patient', `_has:Observation:subject:status ne "|final"`, ['woman']],
    ['Patient', `marks ne "|male"`, ['linked', 'woman']],
    ['Patient', `marks ne "${GENDER}|male"`, ['linked', 'woman']],
    ['Patient', `marks ne "${GENDER}|"`, ['linked']],
  ])('%s?_filter=%s', async (type, text, ids) => {
    expect((await idsOf(store, queryOf(type, parseFilter(MODEL, type, text)))).toSorted()).toEqual(ids);
  });

  test.each([
    ['status', 'final', ['final']],
    ['status', '|final', ['final']],
    ['status', `${STATUS}|final`, ['final']],
    ['value-concept', 'c5', ['final']],
    ['value-concept', 'C5', []],
    ['status:not', '|final', ['draft']],
    ['status:not', `${STATUS}|final`, ['draft']],
    ['status:not', `${STATUS}|`, []],
  ])('Observation?%s=%s', async (name, value, ids) => {
    const criteria = parseParameter(R4, 'Observation', name, [value], { modifiers: true });
    expect(await idsOf(store, queryOf('Observation', criteria))).toEqual(ids);
  });
});
