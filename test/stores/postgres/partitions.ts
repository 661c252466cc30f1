import { expect, test } from 'vitest';
import { executeFhirGraphql, systemCaller } from '../../../src/index.js';
import { type PgliteDatabase, pglitePool, PostgresStore } from '../../../src/postgres.js';
import type { Criteria } from '../../../src/store.js';
import { createRandom, keyOf, put, randomResources } from '../../support/kit.js';
import { COPY } from '../../../src/stores/postgres/database/copy-text.js';
import { projectKey } from '../../../src/stores/postgres/rows/keys.js';
import { SEED } from '../../support/chance.js';
import { bareDatabase } from './pool.js';

const PARTITIONS = 5;

const QUERY = `{
  all: PatientList(_count: 3, _sort: "-birthdate") {
    id
    managingOrganization { resource(optional: true) { ... on Organization { name } } }
    ObservationList(_reference: subject, _count: 2, _sort: "-date") { id encounter { resource(optional: true) { id } } }
  }
  chained: ObservationList(subject: "Patient/p1", _filter: "code eq 8480-6 or status eq final") { id }
  one: Patient(id: "p2") { id }
}`;

const CODE: Criteria = { kind: 'match', parameter: 'code', test: { kind: 'token', code: '8480-6' } };
const OF_CODE: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: CODE };
const LINKS: readonly Criteria[] = [
  OF_CODE,
  { kind: 'chain', parameter: 'organization', type: 'Organization', of: { kind: 'id', ids: ['o1'] } },
  { kind: 'or', of: [OF_CODE, { kind: 'missing', parameter: 'gender', missing: true }] },
  { kind: 'not', of: OF_CODE },
];

test('each statement of a caller reads and writes only the partition of its project', async () => {
  const database = await bareDatabase();
  const sent: { readonly text: string; readonly values: (string | number | null)[]; readonly blob?: Blob }[] = [];
  const recording: PgliteDatabase = {
    query(text, values, options) {
      sent.push({ text, values, ...options });
      return database.query(text, values, options);
    },
  };
  const store = new PostgresStore(pglitePool(recording), { partitions: PARTITIONS });
  // The first call makes the tables, which belong to all projects.
  await store.read([keyOf('Patient', 'nobody')]);
  sent.length = 0;
  const { fromRows } = COPY;
  const resources = randomResources(createRandom(SEED)).slice(0, 24);
  const seen = new Set<string>();
  for (const project of ['clinic', 'hospital', 'practice', 'ward']) {
    const start = sent.length;
    COPY.fromRows = project === 'hospital' ? 1 : fromRows;
    await store.commit(
      resources.map((resource) => put(resource, { unique: [`${resource.resourceType}=${resource.id!}`] }, project)),
    );
    await store.commit(resources.slice(0, 5).map((resource) => put(resource, {}, project)));
    await store.commit([{ kind: 'delete', key: keyOf(resources[0]!.resourceType, resources[0]!.id!, project) }]);
    await store.history(keyOf(resources[0]!.resourceType, resources[0]!.id!, project), { offset: 0, limit: 3 });
    await store.read([{ ...keyOf(resources[1]!.resourceType, resources[1]!.id!, project), version: '1' }]);
    const answer = await executeFhirGraphql(QUERY, { store, caller: systemCaller(project) });
    expect(answer.errors).toBeUndefined();
    for (const criteria of LINKS) await store.search({ project, type: 'Patient', criteria, limit: 2, total: true });

    const partitions = new Set<string>();
    for (const { text, values, blob } of sent.slice(start)) {
      const rows = (await blob?.text())?.split('\n').slice(0, -1) ?? [];
      expect(new Set(rows.map((row) => row.split('\t')[0])), text).toEqual(new Set(blob && [projectKey(project)]));
      if (!/^(?:SELECT|WITH|DELETE|INSERT|UPDATE)/.test(text)) continue;
      // Changes of access are recorded for the whole database.
      if (text.startsWith('INSERT INTO fhirgraph_meta')) continue;
      // Before COPY.
      if (/^(?:SELECT 1 \/ CASE WHEN \(SELECT definitions|INSERT INTO fhirgraph_(?:inside|segment_written))/.test(text))
        continue;
      // The segments of all projects are in one table.
      if (text.startsWith('SELECT l.id')) {
        expect(values).toContain(projectKey(project));
        continue;
      }
      // The feed of all projects is in one table, too.
      if (/^WITH (?:turn|oldest)/.test(text) && !text.includes('saved AS')) {
        expect([text, ...(values as readonly unknown[])].join(' ')).toContain(projectKey(project));
        continue;
      }
      const found = partitionsOf(
        (await database.query<string[]>(`EXPLAIN ${text}`, values, { rowMode: 'array' })).rows,
      );
      // Inserted rows go to the partition of their project, and the plan shows the whole table.
      expect([...found], text).toHaveLength(
        /(?:^WITH|,) w0 AS \(INSERT INTO (?!version)/.test(text) || text.startsWith('WITH saved') ? 0 : 1,
      );
      for (const partition of found) partitions.add(partition);
    }
    expect([...partitions], project).toHaveLength(1);
    for (const partition of partitions) seen.add(partition);
  }
  COPY.fromRows = fromRows;
  expect(sent.some(({ blob }) => blob !== undefined)).toBe(true);
  expect(seen.size).toBeGreaterThan(1);
});

/** The numbers of the partitions in a plan. */
function partitionsOf(plan: readonly string[][]): ReadonlySet<string> {
  return new Set(plan.flatMap(([line]) => PARTITION.exec(line!)?.[1] ?? []));
}

const PARTITION = / on (?:resource|version|token|string|date|quantity|reference|uri|display|unique_key)_(\d+)\b/;
