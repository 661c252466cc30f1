import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  type GraphQLObjectType,
  type GraphQLSchema,
} from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { ownService } from '../../examples/own-definitions.js';
import { fillSample, QUERY } from '../../examples/own-definitions/query.js';
import { usCoreExcerpt } from '../../examples/own-definitions/us-core-excerpt.js';
import { createFhirGraphql, defineField, type FhirGraphql, type ResourceStore, systemCaller } from '../../src/index.js';
import { countCalls } from '../graphql/counting-store.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { IS_LONG } from '../support/chance.js';

const caller = systemCaller('clinic');
let graphql: FhirGraphql;
let store: ResourceStore;

const fileNamed = temporaryFolder();

/** The example's excerpt as the folder of an unpacked package. */
function unpackExcerpt(): string {
  const folder = fileNamed('us-core');
  mkdirSync(join(folder, 'package'), { recursive: true });
  const write = (name: string, content: object): void => {
    writeFileSync(join(folder, 'package', name), JSON.stringify(content));
  };
  write('package.json', { name: 'hl7.fhir.us.core', version: '0.0.0', fhirVersions: ['4.0.1'] });
  write('ImplementationGuide-x.json', { resourceType: 'ImplementationGuide' });
  for (const profile of usCoreExcerpt.profiles!) write(`StructureDefinition-${profile.id}.json`, profile);
  return folder;
}

beforeAll(async () => {
  ({ graphql, store } = await ownService(unpackExcerpt()));
  await fillSample(store, caller);
});

test('a field, a root field, three search parameters and US Core take under 40 lines', () => {
  const text = readFileSync(join(import.meta.dirname, '../../examples/own-definitions.ts'), 'utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^\s*(?:\/\/|\/\*\*)/.test(line));
  expect(lines.length).toBeLessThan(40);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(120);
});

test('the definitions of the package folder are those of the excerpt', () => {
  const byUrl = (profiles: readonly object[]): unknown[] => profiles.map((one) => (one as { url?: string }).url).sort();
  expect(byUrl(store.model.profiles)).toEqual(byUrl(usCoreExcerpt.profiles!));
  expect(byUrl(store.model.profiles)).toHaveLength(4);
});

test('one query answers with all of them', async () => {
  expect(await graphql.execute(QUERY, { caller })).toEqual({
    data: {
      hospital: 'General Hospital',
      PatientList: [
        {
          id: 'amy',
          riskScore: 0.8,
          race: { ombCategory: [{ code: '2106-3' }], text: 'White' },
          ethnicity: { text: 'Not Hispanic or Latino' },
          birthsex: 'F',
          EncounterList: [{ id: 'fall', ObservationList: [{ id: 'pulse', code: { text: 'Pulse' } }] }],
        },
      ],
    },
  });
});

test.skipIf(!IS_LONG)('the introspection query of GraphiQL returns the types and fields of printSchema', async () => {
  const { data } = await graphql.execute(getIntrospectionQuery(), { caller });
  assertDescribed(buildClientSchema(data as never));
});

test('the schema has all of them with descriptions', () => {
  // PERF: introspection answers from the same schema, of all types.
  assertDescribed(buildSchema(graphql.printSchema({ types: ['Patient', 'Encounter', 'Observation'] })));
});

function assertDescribed(schema: GraphQLSchema): void {
  const described = (type: string, ...fields: string[]): unknown => {
    const known = (schema.getType(type) as GraphQLObjectType).getFields();
    return fields.map((field) => [field, known[field]?.type.toString(), known[field]?.description]);
  };
  expect(described('Patient', 'riskScore', 'race', 'ethnicity', 'birthsex')).toMatchObject([
    ['riskScore', 'Float!', 'The risk of a fall, from 0 to 1'],
    ['race', 'USCoreRaceExtension', expect.stringContaining('The race of the patient')],
    ['ethnicity', 'USCoreEthnicityExtension', expect.stringContaining('The ethnicity of the patient')],
    ['birthsex', 'String', expect.stringContaining('The sex of the patient at birth')],
  ]);
  expect(described('USCoreRaceExtension', 'ombCategory')).toMatchObject([
    ['ombCategory', '[Coding]', expect.stringContaining('The broad categories of race')],
  ]);
  const root = schema.getQueryType()!;
  expect(described(root.name, 'hospital')).toEqual([['hospital', 'String!', 'Where you are']]);
  for (const [list, name, description] of [
    ['PatientList', 'ward', 'The ward'],
    ['EncounterList', 'reason_text', 'Why the patient came, in words'],
    ['ObservationList', 'report_count', 'How often it was reported'],
  ] as const) {
    const argument = root.getFields()[list]!.args.find((one) => one.name === name);
    expect(argument?.description).toContain(description);
  }
}

test('store calls equal the edges of the plan', async () => {
  const { plan } = await graphql.explain(QUERY, { caller });
  expect(plan.calls.map(({ kind }) => kind).filter((kind) => kind !== 'host')).toHaveLength(3);
  const counted = countCalls(store);
  const riskScore = defineField('Patient', { type: 'Float!', resolve: (all) => all.map(() => 0) });
  const hospital = defineField('Query', { type: 'String!', resolve: () => '' });
  const service = createFhirGraphql({ store: counted.store, fields: { Patient: { riskScore }, Query: { hospital } } });
  await service.execute(QUERY, { caller });
  expect(counted.takeCalls()).toEqual([
    'search Patient',
    'reverse Encounter.subject Patient/amy',
    'reverse Observation.encounter Encounter/fall',
  ]);
});
