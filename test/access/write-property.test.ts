import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GuardedStore } from '../../src/access/contract.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { type AnyResource, FhirError, MemoryStore, type ResourceStore } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import type { WriteResult } from '../../src/store.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { cases, IS_LONG, IS_WHOLE, SEED, someOf } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';
import { Oracle } from './oracle.js';
import { enrol, member } from './policies.js';
import { ALL_KEYS, fill, plain, projectContent, resourceOf, snapshot, type Json } from './world.js';
import { outcomeOfPut, resultOfPut, type Writer } from './write-oracle.js';

const tally = tallyOf('Writes under policies, against an oracle');

/** Cases per store, of eight writes each. */
const CASES = IS_LONG ? 80 : IS_WHOLE ? 25 : 8;

/**
 * One write: of a drawn resource, or of the resource that the caller sees with one drawn element. A claim creates under
 * an id that the caller chose.
 */
interface Attempt {
  readonly kind: 'replace' | 'change' | 'create' | 'claim' | 'delete';
  readonly drawn: AnyResource;
  readonly element: number;
}

const attempt: fc.Arbitrary<Attempt> = fc.constantFrom(...ALL_KEYS).chain(({ type, id }) =>
  fc.record({
    kind: fc.constantFrom('replace', 'change', 'change', 'change', 'create', 'claim', 'delete'),
    drawn: resourceOf(type, id),
    element: fc.nat(20),
  }),
);

/** The stores, each with cases of its own. */
describe.each(
  someOf(
    [
      ['memory', SEED, CASES, () => new MemoryStore()],
      ['SQLite', SEED + 1, CASES, () => new SqliteStore(':memory:')],
      // A tenth of the speed, in this process.
      ['PostgreSQL', SEED + 2, Math.ceil(CASES / 20), async () => new PostgresStore(await postgresPool())],
    ] as const,
    2,
  ),
)('any policy on a %s store', (_, seed, runs, open) => {
  test('accepts exactly the writes that one of its rules grants before and after', async () => {
    const seen = { accepted: 0, refused: 0 };
    const attempts = fc.array(attempt, { minLength: 8, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(member({ writes: true }), projectContent, attempts, (setup, content, all) =>
        tally.trial(async () => {
          const store = await open();
          try {
            await fill(store, 'alpha', content);
            await fill(store, 'beta', content);
            const guard = guardStore(store, await enrol(store, 'alpha', setup));
            const beside = await snapshot(store, 'beta');
            const writer = { profile: setup.profile, deleted: new Set<string>() };
            let world: World = { content, oracle: new Oracle(content, setup), writer };
            for (const [index, one] of all.entries()) {
              world = await tryOne(store, guard, world, one, `new${index}`, seen);
            }
            expect(await snapshot(store, 'beta')).toBe(beside);
          } finally {
            await store.close();
          }
        }),
      ),
      { numRuns: cases(runs), seed },
    );
    // Both outcomes are common, or the test would show little; a few cases can all be of one kind.
    if (runs >= 8) expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(runs / 2);
  });
});

interface World {
  readonly content: readonly AnyResource[];
  readonly oracle: Oracle;
  readonly writer: Writer;
}

async function tryOne(
  store: ResourceStore,
  guard: GuardedStore,
  world: World,
  { kind, drawn, element }: Attempt,
  fresh: string,
  seen: { accepted: number; refused: number },
): Promise<World> {
  const { oracle, content, writer } = world;
  const { resourceType: type } = drawn;
  const id = kind === 'create' ? fresh : drawn.id!;
  const key = { type, id };
  const before = content.find((one) => one.resourceType === type && one.id === id);
  const asked = kind === 'change' ? changed(oracle.see('read', type, id), drawn, element) : plain({ ...drawn, id });
  const stored = await snapshot(store, 'alpha');
  const result = await guard
    .commit([kind === 'delete' ? { kind: 'delete', key } : { kind: 'put', key, resource: asked, ...EXPECTED[kind] }])
    .then(
      ([result]) => result!,
      (error: unknown) => error as FhirError,
    );
  const written =
    kind === 'delete' || (kind === 'claim' && before !== undefined) ? undefined : before !== undefined || kind === 'create' || maySetId(oracle, type) ? outcomeOfPut(oracle, writer, before, asked) : undefined; // prettier-ignore
  if (kind === 'delete' ? !mayDelete(oracle, before, writer.profile) : written === undefined) {
    seen.refused += 1;
    expect((await snapshot(store, 'alpha')) === stored, 'nothing was written').toBe(true);
    expect(told(result)).toBe(kind === 'delete' ? refusedDelete(oracle, type, before, writer.profile) : refusedPut(oracle, writer, type, before, kind, asked)); // prettier-ignore
    return world;
  }
  seen.accepted += 1;
  const [now] = await store.read([{ project: 'alpha', ...key }]);
  const others = content.filter((one) => one !== before);
  if (written === undefined) {
    expect([told(result), now!.status]).toEqual(['deleted', 'gone']);
    const deleted = new Set([...writer.deleted, `${type}/${id}`]);
    return { content: others, oracle: oracle.withContent(others), writer: { ...writer, deleted } };
  }
  if (result instanceof FhirError) throw result;
  expect(now?.status === 'found' && bare(now.resource)).toEqual(written.after);
  const next = [...others, written.after];
  const then = oracle.withContent(next);
  expect(result.kind === 'put' && bare(result.resource)).toEqual(resultOfPut(then, asked, written));
  return { content: next, oracle: then, writer };
}

/** The resource that the caller sees, with one drawn element; the drawn resource if it sees nothing. */
function changed(seen: AnyResource | undefined, drawn: AnyResource, element: number): AnyResource {
  if (seen === undefined) return drawn;
  const names = Object.keys(drawn).filter((name) => name !== 'resourceType' && name !== 'id');
  const name = names[element % names.length]!;
  return plain({ ...(seen as unknown as Json), [name]: (drawn as unknown as Json)[name] });
}

/** Only callers who read all of a type can choose the id of a new resource; for others an unknown id is missing. */
function maySetId(oracle: Oracle, type: string): boolean {
  return oracle.opens('read', type);
}

function mayDelete(oracle: Oracle, before: AnyResource | undefined, profile: string): boolean {
  if (before === undefined || oracle.granting('delete', before).length === 0) return false;
  return `${before.resourceType}/${before.id!}` !== profile;
}

function refusedDelete(oracle: Oracle, type: string, before: AnyResource | undefined, profile: string): string {
  if (oracle.rulesFor(type, 'delete').length === 0) return 'forbidden';
  if (before === undefined) return 'nothing to delete';
  if (oracle.granting('delete', before).length > 0) return `conflict of ${profile}`;
  return oracle.granting('read', before).length > 0 ? 'forbidden' : 'nothing to delete';
}

/** The preconditions of the kinds of writes. */
const EXPECTED = {
  replace: {},
  change: {},
  create: { expect: { version: null }, generatedId: true },
  claim: { expect: { version: null } },
} as const;

function refusedPut(
  oracle: Oracle,
  writer: Writer,
  type: string,
  before: AnyResource | undefined,
  kind: Attempt['kind'],
  asked: AnyResource,
): string {
  const visible = before !== undefined && oracle.granting('read', before).length > 0;
  if (kind === 'claim' && before !== undefined && outcomeOfPut(oracle, writer, before, asked) !== undefined) return 'precondition-failed'; // prettier-ignore
  if (visible || (before !== undefined && oracle.granting('update', before).length > 0)) return 'forbidden';
  const [creates, updates] = [oracle.rulesFor(type, 'create').length > 0, oracle.rulesFor(type, 'update').length > 0];
  if (kind === 'create' || (!creates && (kind === 'claim' || !updates))) return 'forbidden';
  return creates && maySetId(oracle, type) ? 'forbidden' : 'not-found';
}

function told(result: WriteResult | FhirError): string {
  if (result instanceof FhirError) {
    return result.code === 'conflict' ? `conflict of ${/^\S+/.exec(result.message)![0]}` : result.code;
  }
  if (result.kind !== 'delete') return 'written';
  return result.versionId === null ? 'nothing to delete' : 'deleted';
}

function bare(resource: AnyResource): Json {
  const { meta: _, ...rest } = resource as unknown as Json;
  return rest;
}
