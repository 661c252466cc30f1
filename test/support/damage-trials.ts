import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { FhirError, type ResourceStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import type { Criteria } from '../../src/store.js';
import { below, createRandom, keyOf, oneOf, put, queryOf, randomResources } from './kit.js';
import type { Tally } from './long-report.js';

/** The results of trials of damage. */
export interface DamageOutcome {
  /** The file was refused when it was opened. */
  refused: number;
  /** Some answer was an error. */
  told: number;
  /** No answer was an error, some search missed or added matches, and verify reported the damage. */
  foundByVerify: number;
  /** Every answer was as before. */
  harmless: number;
  /** Wrong or failing searches that reindex repaired. */
  mended: number;
}

/**
 * Damages copies of a file at random places: a bit, a byte, a run of bytes, a page. Each call on such a file must answer as
 * before or reject as `corrupt`. Only searches can miss or add matches, and then verify must report it. No resource may
 * ever have content that was not written.
 *
 * @param fileNamed returns names of files that can be created
 */
export async function runDamageTrials(
  fileNamed: (name: string) => string,
  { trials, seed, tally }: { readonly trials: number; readonly seed: number; readonly tally: Tally },
): Promise<DamageOutcome> {
  const random = createRandom(seed);
  const healthy = fileNamed('healthy.db');
  const store = new SqliteStore(healthy);
  for (let round = 0; round < 4; round++) await store.commit(randomResources(random).map((resource) => put(resource)));
  await store.commit([
    { kind: 'delete', key: keyOf('Patient', 'p1') },
    { kind: 'delete', key: keyOf('Observation', 'o1') },
  ]);
  const truth = await ask(store);
  await store.close();
  const bytes = readFileSync(healthy);
  const outcome: DamageOutcome = { refused: 0, told: 0, foundByVerify: 0, harmless: 0, mended: 0 };
  for (let trial = 0; trial < trials; trial++) {
    await tally.trial(async () => {
      tally.addFaults();
      const file = fileNamed('damaged.db');
      writeFileSync(file, damage(Buffer.from(bytes), random));
      try {
        await tryOne(file, truth, outcome);
      } catch (error) {
        copyFileSync(file, fileNamed('kept.db'));
        throw new Error(`Trial ${trial} of seed ${seed}`, { cause: error });
      } finally {
        for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      }
    });
  }
  return outcome;
}

async function tryOne(file: string, truth: Answers, outcome: DamageOutcome): Promise<void> {
  let store: SqliteStore;
  try {
    store = new SqliteStore(file, { busyTimeout: 0 });
  } catch (error) {
    // A changed header can show another application or version.
    expect(error).toBeInstanceOf(FhirError);
    expect(['corrupt', 'conflict', 'unavailable']).toContain((error as FhirError).code);
    outcome.refused += 1;
    return;
  }
  try {
    const answers = await ask(store);
    const differing = [...truth.keys()].filter((name) => answers.get(name) !== truth.get(name));
    for (const name of differing) {
      if (answers.get(name) !== CORRUPT) assertNothingMadeUp(name, answers.get(name)!, truth);
    }
    const { problems } = await store.verify();
    if (differing.length === 0) outcome.harmless += 1;
    else {
      if (problems.length === 0) expect(differing.map((name) => [name, answers.get(name)])).toEqual([]);
      if (differing.some((name) => answers.get(name) === CORRUPT)) outcome.told += 1;
      else outcome.foundByVerify += 1;
    }
    // A file without findings gives the right answers, even after a repair.
    if (problems.length > 0 && (await succeeds(store.reindex())) && (await store.verify()).problems.length === 0) {
      if (differing.length > 0) outcome.mended += 1;
      const mended = await ask(store);
      expect([...truth].filter(([name, answer]) => mended.get(name) !== answer)).toEqual([]);
    }
  } finally {
    await store.close();
  }
}

async function succeeds(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    expect(error).toMatchObject({ name: 'FhirError', code: 'corrupt' });
    return false;
  }
}

/** JSON texts of answers by their call. */
type Answers = ReadonlyMap<string, string>;

const CORRUPT = 'corrupt';
const TYPES = ['Patient', 'Organization', 'Observation', 'Encounter', 'RiskAssessment', 'ValueSet'] as const;

const match = (parameter: string, test: object): Criteria => ({ kind: 'match', parameter, test }) as Criteria;
const SEARCHES: readonly (readonly [type: (typeof TYPES)[number], criteria: Criteria])[] = [
  ...TYPES.map((type) => [type, { kind: 'all' }] as const),
  ['Patient', match('gender', { kind: 'token', code: 'male' })],
  ['Patient', match('family', { kind: 'string', comparator: 'starts-with', text: 'm' })],
  ['Patient', match('organization', { kind: 'reference', types: ['Organization'], id: 'o1' })],
  ['Patient', { kind: 'missing', parameter: 'birthdate', missing: true }],
  ['Observation', match('code', { kind: 'token', system: 'http://loinc.org', code: '8480-6' })],
  ['Observation', match('code', { kind: 'text', text: 'blood' })],
  ['ValueSet', match('url', { kind: 'uri', comparator: 'equals', value: 'http://a/b' })],
];

/** Calls everything, in every way. An error must be `corrupt`. */
async function ask(store: ResourceStore): Promise<Answers> {
  const answers = new Map<string, string>();
  const add = async (name: string, call: () => Promise<unknown>): Promise<void> => {
    try {
      answers.set(name, JSON.stringify(await call()));
    } catch (error) {
      expect([name, error]).toEqual([name, expect.objectContaining({ name: 'FhirError', code: 'corrupt' })]);
      answers.set(name, CORRUPT);
    }
  };
  for (const [type, criteria] of SEARCHES) {
    await add(`search ${type} ${JSON.stringify(criteria)}`, () =>
      store.search({ ...queryOf(type, criteria), total: true }),
    );
  }
  await add('by reference', () =>
    store.searchByReference(
      queryOf('Observation'),
      'subject',
      ['p1', 'p2', 'p3'].map((id) => ({ type: 'Patient', id })),
    ),
  );
  for (const [type, ids] of [
    ['Patient', 'p'],
    ['Observation', 'o'],
  ] as const) {
    const keys = [1, 2, 3, 4, 5].map((number) => keyOf(type, `${ids}${number}`));
    await add(`read many ${type}`, () => store.read(keys));
    await add(`read version ${type}`, () => store.read(keys.map((key) => ({ ...key, version: '2' }))));
    for (const key of keys) {
      await add(`read ${type}/${key.id}`, () => store.read([key]));
      await add(`history ${type}/${key.id}`, () => store.history(key, { offset: 0, limit: 10 }));
    }
  }
  return answers;
}

/** Every resource in a wrong answer must equal a written version. */
function assertNothingMadeUp(name: string, answer: string, truth: Answers): void {
  const written = [...truth.values()].join('\n');
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('resourceType' in value) {
      expect([name, written.includes(JSON.stringify(value))]).toEqual([name, true]);
      return;
    }
    Object.values(value).forEach(visit);
  };
  visit(JSON.parse(answer));
}

function damage(bytes: Buffer, random: () => number): Buffer {
  const size = bytes.readUInt16BE(16);
  const at = below(bytes.length, random);
  const page = at - (at % size);
  oneOf(
    [
      () => (bytes[at]! ^= 1 << below(8, random)),
      () => (bytes[at]! ^= 1 << below(8, random)),
      () => (bytes[at] = below(256, random)),
      () => bytes.fill(below(256, random), at, at + 1 + below(200, random)),
      () => bytes.fill(0, page, page + size),
      () => bytes.copyWithin(page, below(bytes.length / size, random) * size, size),
      // An empty file is a new store, and SQLite treats a single byte as empty.
      () => (bytes = bytes.subarray(0, Math.max(page, 100))),
      // Here the first page has the number of pages.
      () => (bytes[100 + below(8, random)] = below(256, random)),
      // Here a page has its kind.
      () => (bytes[page + below(12, random)] = below(256, random)),
    ],
    random,
  )();
  return bytes;
}
