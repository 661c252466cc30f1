import type { Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AnyResource,
  type AuditRecord,
  createRepository,
  executeFhirGraphql,
  type MemberCaller,
  MemoryStore,
  type ResourceStore,
} from '../../src/index.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import { elementsOf, isJsonObject } from '../../src/fhir/resource.js';
import { cases, SEED } from '../support/chance.js';
import { enrol, member } from './policies.js';
import { QUESTIONS, type Question } from './questions.js';
import { ALL_KEYS, fill, IDS, projectContent, SAMPLE_TYPES, type SampleType } from './world.js';

const CASE = fc.record({
  setup: member({ writes: false }),
  older: projectContent,
  content: projectContent,
  questions: fc.subarray([...QUESTIONS], { minLength: 4, maxLength: 8 }),
  seed: fc.nat(),
});

test('the record of a query names exactly the resources that its answer shows, and their patients as stored', () =>
  holds(async ({ store, caller, seed }) => {
    const random = createRandom(seed);
    for (let index = 0; index < 4; index += 1) {
      const records: AuditRecord[] = [];
      const query = randomQuery(random);
      const dialect = random() < 0.2 ? 'hl7' : 'standard';
      const audit = (record: AuditRecord): void => void records.push(record);
      const result = await executeFhirGraphql(query, { store, caller, audit, dialect });
      const shown = new Set<string>();
      addShown(result.data, shown);
      expect(namesIn(records), query).toEqual([...shown].sort());
      expect(records[0]?.patients?.ids.toSorted() ?? [], query).toEqual(await patientsOf(store, shown));
    }
  }));

test('the records of a repository name exactly the resources that its answers show', () =>
  holds(async ({ store, caller, questions }) => {
    const records: AuditRecord[] = [];
    const repository = createRepository({ store, caller, audit: (record) => void records.push(record) });
    const asks: readonly (() => Promise<unknown>)[] = [
      ...ALL_KEYS.flatMap(({ type, id }) => [
        () => repository.read(type, id),
        () => repository.vread(type, id, '1'),
        () => repository.history(type, id),
      ]),
      ...questions.flatMap(({ type, rest }) => [
        () => repository.search(type, `${rest}&_count=2`),
        () => repository.search(type, `${rest}&_elements=id&_include=*:subject`.replace('*', type)),
        () => repository.transaction(gets(type, rest, 'batch')),
        () => repository.transaction(gets(type, rest, 'transaction')),
      ]),
    ];
    for (const ask of asks) {
      records.length = 0;
      const answer = await ask().catch(() => undefined);
      const shown = new Set<string>();
      addResources(answer, shown);
      expect(namesIn(records)).toEqual([...shown].sort());
      expect(records[0]?.patients?.ids.toSorted() ?? []).toEqual(await patientsOf(store, shown));
    }
  }));

interface Opened {
  readonly store: ResourceStore;
  readonly caller: MemberCaller;
  readonly questions: readonly Question[];
  readonly seed: number;
}

function holds(check: (one: Opened) => Promise<void>): Promise<void> {
  return fc.assert(
    fc.asyncProperty(CASE, async ({ setup, older, content, questions, seed }) => {
      const store = new MemoryStore();
      await fill(store, 'alpha', older);
      await fill(store, 'alpha', content);
      await check({ store, caller: await enrol(store, 'alpha', setup), questions, seed });
    }),
    { numRuns: cases(250, 10), seed: SEED },
  );
}

function namesIn(records: readonly AuditRecord[]): string[] {
  expect(records).toHaveLength(1);
  const { total = 0, resources = [] } = records[0]!.returned ?? {};
  expect(resources).toHaveLength(total);
  return resources.map(({ type, id, versionId }) => `${type}/${id}/${versionId ?? 'none'}`).sort();
}

/** The elements that R4's compartment of a Patient goes by, for the types of the sample. */
const OF_PATIENTS: { readonly [type: string]: readonly string[] } = {
  Observation: ['subject', 'performer'],
  Encounter: ['subject'],
  RelatedPerson: ['patient'],
};

/** The patients with compartments that contain these stored versions. */
async function patientsOf(store: ResourceStore, shown: ReadonlySet<string>): Promise<string[]> {
  const keys = Array.from(shown, (name) => {
    const [type, id, version] = name.split('/') as [string, string, string];
    return { project: 'alpha', type, id, version };
  });
  const found = new Set<string>();
  for (const row of await store.read(keys)) {
    if (row.status !== 'found') throw new Error('What was shown is stored');
    const { resourceType: type, id } = row.resource;
    if (type === 'Patient') found.add(id!);
    for (const name of OF_PATIENTS[type] ?? []) {
      const value = elementsOf(row.resource)[name];
      for (const { reference } of [value ?? []].flat() as readonly { readonly reference?: string }[]) {
        const patient = /^Patient\/(.*)$/.exec(reference ?? '')?.[1];
        if (patient !== undefined) found.add(patient);
      }
    }
  }
  return [...found].sort();
}

/** Every selection asks for these, so that whatever is shown can be found in the answer. */
const NAME = '__typename id meta { versionId }';

function addShown(value: unknown, shown: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) addShown(item, shown);
  if (!isJsonObject(value)) return;
  const { __typename: type, id, meta } = value;
  if (typeof type === 'string' && typeof id === 'string') {
    const version = isJsonObject(meta) ? meta['versionId'] : undefined;
    shown.add(`${type}/${id}/${typeof version === 'string' ? version : 'none'}`);
  }
  for (const inner of Object.values(value)) addShown(inner, shown);
}

function addResources(value: unknown, shown: Set<string>): void {
  if (!isJsonObject(value)) return;
  const { resourceType, entry = [], id } = value;
  if (resourceType !== 'Bundle') {
    if (typeof resourceType !== 'string') return;
    shown.add(`${resourceType}/${String(id)}/${(value as unknown as AnyResource).meta?.versionId ?? 'none'}`);
    return;
  }
  for (const { resource } of entry as NonNullable<Bundle['entry']>) addResources(resource, shown);
}

const LINKS: { readonly [Type in SampleType]: readonly (readonly [field: string, target: SampleType])[] } = {
  Patient: [
    ['managingOrganization', 'Organization'],
    ['generalPractitioner', 'Practitioner'],
  ],
  Observation: [
    ['subject', 'Patient'],
    ['encounter', 'Encounter'],
  ],
  Encounter: [['subject', 'Patient']],
  Organization: [['partOf', 'Organization']],
  Practitioner: [],
  RelatedPerson: [['patient', 'Patient']],
};

const REVERSE: { readonly [Type in SampleType]: readonly (readonly [type: SampleType, parameter: string])[] } = {
  Patient: [
    ['Observation', 'subject'],
    ['Encounter', 'patient'],
  ],
  Observation: [],
  Encounter: [['Observation', 'encounter']],
  Organization: [['Patient', 'organization']],
  Practitioner: [['Patient', 'general_practitioner']],
  RelatedPerson: [],
};

function randomQuery(random: () => number): string {
  const fields: string[] = [];
  for (let index = 1 + below(4, random); index > 0; index -= 1) {
    const type = oneOf(SAMPLE_TYPES, random);
    const inner = selection(type, random, 3);
    const key = `f${index}`;
    const id = oneOf([...IDS[type], 'nowhere'], random);
    const question = oneOf(
      QUESTIONS.filter((one) => one.type === type && one.graphql !== undefined),
      random,
    );
    const search = `${question.graphql === '' ? '' : `${question.graphql} `}_count: ${below(5, random)}`;
    fields.push(
      oneOf(
        [
          `${key}: ${type}(id: "${id}") { ${inner} }`,
          `${key}: ${type}List(${search}) { ${inner} }`,
          `${key}: ${type}List(${search}) @first { ${inner} }`,
          `${key}: ${type}Connection(${search}) { count first next edges { mode resource { ${inner} } } }`,
          `${key}: ${type}Connection(${search}) { count edges { mode } }`,
        ],
        random,
      ),
    );
  }
  return `{ ${fields.join(' ')} }`;
}

/** Lists inside lists, references and contained resources with ids that differ from those of stored resources. */
function selection(type: SampleType, random: () => number, depth: number): string {
  const parts = [NAME, 'contained { ... on Patient { inside: id } }'];
  if (depth === 0) return parts.join(' ');
  LINKS[type].forEach(([field, target], index) => {
    if (random() < 0.6) return;
    const optional = random() < 0.7 ? '(optional: true)' : '';
    const inner = selection(target, random, depth - 1);
    parts.push(`r${depth}${index}: ${field} { resource${optional} { ... on ${target} { ${inner} } } }`);
  });
  REVERSE[type].forEach(([other, parameter], index) => {
    if (random() < 0.6) return;
    const inner = selection(other, random, depth - 1);
    parts.push(
      random() < 0.7
        ? `l${depth}${index}: ${other}List(_reference: ${parameter}) { ${inner} }`
        : `l${depth}${index}: ${other}Connection(_reference: ${parameter}, _count: 1) { edges { resource { ${inner} } } }`,
    );
  });
  return parts.join(' ');
}

function gets(type: SampleType, rest: string, kind: 'batch' | 'transaction'): Bundle {
  const urls = [`${type}?${rest}`, ...IDS[type].map((id) => `${type}/${id}`)];
  return {
    resourceType: 'Bundle',
    type: kind,
    entry: urls.map((url) => ({ request: { method: 'GET', url } })),
  };
}
