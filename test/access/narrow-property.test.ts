import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GuardedStore } from '../../src/access/contract.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { explainAccess } from '../../src/access.js';
import {
  type AnyResource,
  createRepository,
  FhirError,
  MemoryStore,
  narrowCaller,
  type Narrowing,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { R4 } from '../../src/store.js';
import { ALL_INTERACTIONS } from '../../src/access/rule.js';
import { isJsonObject } from '../../src/fhir/resource.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { cases, IS_LONG, IS_WHOLE, SEED } from '../support/chance.js';
import { enrol, member } from './policies.js';
import { QUESTIONS } from './questions.js';
import { ALL_KEYS, fill, plain, projectContent, resourceOf, SAMPLE_TYPES, snapshot } from './world.js';

const CASES = IS_LONG ? 60 : IS_WHOLE ? 20 : 8;
const PAGE = { offset: 0, limit: 10 };

const scope = fc
  .record({
    context: fc.constantFrom('patient', 'user', 'system'),
    type: fc.constantFrom(...SAMPLE_TYPES, '*', 'Nothing'),
    granted: fc.constantFrom('rs', 'cruds', 'r', 's', 'cu', 'ud', 'read', 'write', '*', 'sr'),
    query: fc.constantFrom(
      '',
      '',
      '?status=final',
      '?gender=female',
      '?subject:Patient.gender=female',
      '?code:not=a',
      '?x=y',
    ),
  })
  .map(({ context, type, granted, query }) => `${context}/${type}.${granted}${query}`);
/** Half of a policy or more is left by these. */
const OPEN = fc.constantFrom('user/*.cruds', 'system/*.cud', 'user/*.rs?_id=p1,o1,o2,e1');
const patient = fc.constantFrom('p1', 'Patient/p2', 'p3');
const narrowing: fc.Arbitrary<Narrowing> = fc.oneof(
  fc.record({
    scopes: fc
      .array(fc.oneof({ arbitrary: scope, weight: 2 }, { arbitrary: OPEN, weight: 1 }), { minLength: 1, maxLength: 6 })
      .map((all) => all.join(' ')),
    patient,
  }),
  fc.record({ patient }),
);
const write = fc
  .constantFrom(...ALL_KEYS)
  .chain(({ type, id }) =>
    fc.record({ kind: fc.constantFrom('change', 'put', 'create', 'delete'), drawn: resourceOf(type, id) }),
  );

test('a narrowed caller can do nothing that the caller cannot do', async () => {
  const seen = { resources: 0, missing: 0, accepted: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      member({ writes: true }).chain((setup) => member({ writes: false }).map((reads) => ({ setup, reads }))),
      projectContent,
      projectContent,
      fc.array(narrowing, { minLength: 1, maxLength: 2 }),
      fc.subarray([...QUESTIONS], { minLength: 2, maxLength: 4 }),
      fc.array(write, { minLength: 6, maxLength: 6 }),
      async ({ setup, reads }, older, content, narrowings, questions, writes) => {
        const both = {
          ...setup,
          policies: [...setup.policies, ...reads.policies],
          access: [
            ...setup.access,
            ...reads.access.map((one) => ({ ...one, policy: one.policy + setup.policies.length })),
          ],
        };
        const stores = [new MemoryStore(), new SqliteStore(':memory:', { readers: 0 })] as const;
        const [store, twin] = stores;
        const callers = [];
        for (const one of stores) {
          await fill(one, 'alpha', older);
          await fill(one, 'alpha', content);
          callers.push(await enrol(one, 'alpha', both));
        }
        const narrowed = narrowings.reduce(narrowCaller, callers[0]!);
        const [narrow, wide, wideTwin] = [
          guardStore(store, narrowed),
          guardStore(store, callers[0]!),
          guardStore(twin, callers[1]!),
        ];
        await sameOrLess(narrow, wide, seen);
        await searchesLess(narrow, wide, questions);
        await includesLess(createRepository({ store, caller: narrowed }), wide);
        for (const { type, id } of ALL_KEYS.slice(0, 4)) {
          const less = await explainAccess({ type, id }, { store, caller: narrowed });
          const more = await explainAccess({ type, id }, { store, caller: callers[0]! });
          for (const name of ALL_INTERACTIONS) {
            if (less.interactions[name].allowed) expect(more.interactions[name].allowed, name).toBe(true);
          }
        }
        for (const one of writes) await writesLess({ narrow, wide, wideTwin }, [store, twin], one, seen);
        await Promise.all(stores.map((one) => one.close()));
      },
    ),
    { numRuns: cases(CASES), seed: SEED },
  );
  // All outcomes are common, or the test would show little.
  for (const count of [seen.resources, seen.missing, seen.refused]) expect(count).toBeGreaterThan(CASES);
  expect(seen.accepted).toBeGreaterThan(0);
});

/** Reads of current and older versions, and histories. */
async function sameOrLess(narrow: GuardedStore, wide: GuardedStore, seen: { resources: number; missing: number }) {
  const keys = [...ALL_KEYS, ...ALL_KEYS.map((key) => ({ ...key, version: '1' }))];
  const [less, more] = [await narrow.read(keys), await wide.read(keys)];
  for (const [index, one] of less.entries()) {
    const other = more[index]!;
    if (one.status === 'missing' && other.status !== 'missing') seen.missing += 1;
    if (one.status === 'missing') continue;
    expect(other.status).toBe(one.status);
    if (one.status !== 'found' || other.status !== 'found') continue;
    seen.resources += 1;
    expect(isWithin(one.resource, other.resource), JSON.stringify([one.resource, other.resource])).toBe(true);
  }
  for (const key of ALL_KEYS) {
    const [part, whole] = [await narrow.history(key, PAGE), await wide.history(key, PAGE)];
    expect(part.total).toBe(part.entries.length);
    for (const entry of part.entries) {
      const other = whole.entries.find(({ versionId }) => versionId === entry.versionId);
      expect(other?.kind).toBe(entry.kind);
      if (entry.kind === 'put' && other?.kind === 'put') expect(isWithin(entry.resource, other.resource)).toBe(true);
    }
  }
}

/** The matches and counts of any search are among those of the caller. */
async function searchesLess(
  narrow: GuardedStore,
  wide: GuardedStore,
  questions: readonly (typeof QUESTIONS)[number][],
) {
  for (const { type, rest } of [...questions, ...SAMPLE_TYPES.map((one) => ({ type: one, rest: '' }))]) {
    const { criteria } = parseSearch(R4, type, rest);
    const all = new Map(
      (await wide.search({ type, criteria: ALL })).matches.map((row) => [row.resource.id, row.resource]),
    );
    const { matches, total } = await narrow.search({ type, criteria, total: true });
    expect(total).toBe(matches.length);
    for (const { resource } of matches) {
      expect(all.has(resource.id)).toBe(true);
      expect(isWithin(resource, all.get(resource.id)!)).toBe(true);
    }
  }
  const targets = ['p1', 'p2', 'p3'].map((id) => ({ type: 'Patient', id }));
  const asked = { type: 'Observation', criteria: ALL, total: true };
  const [less, more] = [
    await narrow.searchByReference(asked, 'subject', targets),
    await wide.searchByReference(asked, 'subject', targets),
  ];
  for (const [index, { matches, total }] of less.entries()) {
    const ids = more[index]!.matches.map(({ resource }) => resource.id);
    expect(ids).toEqual(expect.arrayContaining(matches.map(({ resource }) => resource.id)));
    expect(total).toBe(matches.length);
  }
}

async function includesLess(repository: ReturnType<typeof createRepository>, wide: GuardedStore): Promise<void> {
  const query = '_include=Observation:subject&_include=Observation:encounter&_revinclude=Observation:has-member';
  const { entry = [] } = await repository.search('Observation', query).catch((error: unknown) => {
    if (error instanceof FhirError) return { entry: [] };
    throw error;
  });
  const keys = entry.flatMap(({ resource }) =>
    resource?.id === undefined ? [] : [{ type: resource.resourceType, id: resource.id }],
  );
  if (keys.length === 0) return;
  for (const { type, id } of keys) {
    const { matches } = await wide.search({ type, criteria: { kind: 'id', ids: [id] } });
    const [read] = await wide.read([{ type, id }]);
    expect(matches.length === 1 || read!.status === 'found', `${type}/${id}`).toBe(true);
  }
}

interface Guards {
  readonly narrow: GuardedStore;
  readonly wide: GuardedStore;
  /** Over a store with equal contents. */
  readonly wideTwin: GuardedStore;
}

/** A write of a narrowed caller is possible for the caller, with the same effect. */
async function writesLess(
  { narrow, wide, wideTwin }: Guards,
  [store, twin]: readonly [MemoryStore, SqliteStore],
  { kind, drawn }: { readonly kind: string; readonly drawn: AnyResource },
  seen: { accepted: number; refused: number },
): Promise<void> {
  const type = drawn.resourceType;
  const key = { type, id: kind === 'create' ? `new-${drawn.id!}` : drawn.id! };
  const [shown] = await narrow.read([key]);
  const base = kind === 'change' && shown?.status === 'found' ? shown.resource : {};
  const resource = plain({
    ...drawn,
    ...base,
    ...(kind === 'change' ? { language: 'de' } : {}),
    ...key,
    resourceType: type,
  });
  delete (resource as { type?: unknown }).type;
  const before = await snapshot(store, 'alpha');
  const put = (asked: AnyResource) =>
    kind === 'delete'
      ? ({ kind: 'delete', key } as const)
      : ({ kind: 'put', key, resource: asked, ...(kind === 'create' ? { generatedId: true as const } : {}) } as const);
  const done = await outcome(narrow.commit([put(resource)]));
  const after = await snapshot(store, 'alpha');
  // A snapshot has no created resources, but rules may depend on them.
  if (done !== 'done' || (after === before && kind !== 'create')) {
    expect(after).toBe(before);
    seen.refused += 1;
    return;
  }
  seen.accepted += 1;
  const again = await outcome(wideTwin.commit([put(resource)]));
  if (again !== 'done') {
    // It sees more, and so repeats more of what it cannot change.
    const [more] = await wide.read([key]);
    const asked = more?.status === 'found' ? more.resource : resource;
    expect([again, await outcome(wideTwin.commit([put(asked)]))]).toEqual([again, 'done']);
  }
  // Both stores go on from equal contents.
  expect(withoutMeta(await snapshot(twin, 'alpha'))).toBe(withoutMeta(after));
}

const outcome = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof FhirError ? `${error.code} ${error.message}` : String(error)),
  );

const withoutMeta = (text: string): string => text.replace(/"lastUpdated":"[^"]*"|"versionId":"[^"]*"/g, '""');

/** True if everything in the first value is in the second; lists can be shorter. */
function isWithin(one: unknown, other: unknown): boolean {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.every((item) => other.some((candidate) => isWithin(item, candidate)));
  }
  if (!isJsonObject(one)) return one === other;
  return isJsonObject(other) && Object.keys(one).every((name) => isWithin(one[name], other[name]));
}
