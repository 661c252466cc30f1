import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { generateSample } from '../../examples/sample-data.js';
import { parse } from '../../src/graphql/graphql-js.js';
import { type AnyResource, importBundle, MemoryStore } from '../../src/index.js';
import { caller, openClinic, PROJECT, type Clinic, type Sample } from './harness.js';
import { learnVocabulary, writeDocument, type Vocabulary } from './naive/random-document.js';
import { createNaiveEngine } from './naive/schema.js';
import type { JsonObject } from './naive/resolvers.js';
import { cases } from '../support/chance.js';

/** Cases that the sample data lack: references without a target, contained resources, values with extensions only. */
const ODD: readonly Sample[] = [
  {
    resourceType: 'Observation',
    id: 'odd-contained',
    status: 'final',
    contained: [
      { resourceType: 'Patient', id: 'p', gender: 'other', generalPractitioner: [{ reference: '#d' }] },
      { resourceType: 'Practitioner', id: 'd', name: [{ family: 'Inner' }] },
    ],
    subject: { reference: '#p' },
    performer: [{ reference: '#d' }, { reference: '#lost' }, { display: 'someone' }],
  },
  {
    resourceType: 'Observation',
    id: 'odd-dangling',
    status: 'final',
    subject: { reference: 'Patient/lost' },
    encounter: { reference: 'https://other.base/Encounter/1' },
    performer: [{ reference: 'urn:uuid:00000000-0000-4000-8000-000000000000' }, { reference: 'Organization/lost' }],
  },
  {
    resourceType: 'Patient',
    id: 'odd-null',
    name: [{ given: ['A', null], _given: [null, { extension: [{ url: 'urn:x', valueString: 'y' }] }] }],
    _birthDate: { extension: [{ url: 'urn:x', valueString: 'unknown' }] },
  },
];

let clinic: Clinic;
let ask: ReturnType<typeof createNaiveEngine>;
let vocabulary: Vocabulary;
let types: readonly string[];

beforeAll(async () => {
  clinic = await openClinic(ODD, new MemoryStore());
  const resources: AnyResource[] = [...(ODD as readonly AnyResource[])];
  for (const bundle of generateSample({ patients: 2, seed: 'differential' })) {
    await importBundle(bundle, { store: clinic.store, caller });
  }
  const found = new Set(['Patient', 'Observation']);
  for (const bundle of generateSample({ patients: 2, seed: 'differential' })) {
    for (const { resource } of bundle.entry ?? []) if (resource !== undefined) found.add(resource.resourceType);
  }
  types = [...found].sort();
  for (const type of types) {
    const { matches } = await clinic.store.search({ project: PROJECT, type, criteria: { kind: 'all' } });
    resources.push(...matches.map(({ resource }) => resource));
  }
  vocabulary = learnVocabulary(resources as unknown as readonly JsonObject[]);
  ask = createNaiveEngine(clinic.store, PROJECT, types);
});

/** Paths of errors as sorted texts. */
function pathsOf(
  errors: readonly { readonly path?: readonly (string | number)[] | undefined }[] | undefined,
): string[] {
  return (errors ?? []).map(({ path }) => path?.join('.') ?? '(request)').sort();
}

test('random queries have the same answers as graphql-js over naive resolvers', async () => {
  let [nodes, failed, asked] = [0, 0, 0];
  const runs = cases(300, 50);
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const query = writeDocument(vocabulary, types, seed);
      const actual = await clinic.ask(query);
      const expected = await ask(parse(query));
      expect(JSON.parse(JSON.stringify(actual.data ?? null)), query).toEqual(JSON.parse(JSON.stringify(expected.data)));
      expect(pathsOf(actual.errors), query).toEqual(pathsOf(expected.errors));
      asked += 1;
      nodes += JSON.stringify(actual.data).split(':').length;
      failed += actual.errors?.length ?? 0;
    }),
    { numRuns: runs, endOnFailure: true },
  );
  // Answers that are all empty would be equal too.
  expect(nodes / asked).toBeGreaterThan(20);
  expect(failed).toBeGreaterThan(runs / 15);
});
