import type { AccessPolicy, Bundle, Observation } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { explainAccess } from '../../src/access.js';
import {
  type AnyResource,
  type Clearance,
  executeFhirGraphql,
  MemoryStore,
  narrowCaller,
  type ResourceStore,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { R4 } from '../../src/store.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { codeOf, faultOf, overStores, repositoryOf, signedIn, system } from '../repository/harness.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { cases, IS_LONG, IS_WHOLE, SEED, someOf } from '../support/chance.js';
import { QUESTIONS, SORTS } from './questions.js';
import { ALL_KEYS, fill, projectContent, SAMPLE_TYPES } from './world.js';

const CONFIDENTIALITY = 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality';
const SENSITIVITY = 'http://terminology.hl7.org/CodeSystem/v3-ActCode';
type Label = { readonly system?: string; readonly code?: string };
const confidential = (code: string): Label => ({ system: CONFIDENTIALITY, code });
const LABELS: readonly Label[] = [
  ...['N', 'R', 'V'].map(confidential),
  ...['HIV', 'ETH'].map((code) => ({ system: SENSITIVITY, code })),
  { system: SENSITIVITY },
  { code: 'R' },
  { system: 'http://other.example', code: 'V' },
];
const labels = fc.oneof(
  { arbitrary: fc.constant<readonly Label[]>([]), weight: 2 },
  { arbitrary: fc.subarray([...LABELS], { minLength: 1, maxLength: 2 }), weight: 1 },
);
const clearance: fc.Arbitrary<readonly Clearance[]> = fc
  .record({
    confidentiality: fc.option(fc.subarray(['L', 'N', 'R', 'V'], { maxLength: 2 })),
    sensitivity: fc.option(fc.subarray(['HIV', 'ETH'])),
  })
  .map(({ confidentiality, sensitivity }) => [
    ...(confidentiality === null ? [] : [{ system: CONFIDENTIALITY, codes: confidentiality }]),
    ...(sensitivity === null ? [] : [{ system: SENSITIVITY, codes: sensitivity }]),
  ]);

/** One label at a time: the rule in its simplest words. */
function isCleared(resource: AnyResource, clearances: readonly Clearance[]): boolean {
  const { contained = [], meta } = resource as AnyResource & { readonly contained?: readonly AnyResource[] };
  const own = ((meta as { readonly security?: readonly Label[] } | undefined)?.security ?? []).every((label) =>
    clearances.every(({ system, codes }) => {
      if (label.system !== system) return true;
      const order = ['U', 'L', 'M', 'N', 'R', 'V'];
      const isLower = (code: string): boolean =>
        system === CONFIDENTIALITY &&
        order.indexOf(label.code ?? 'none') <= order.indexOf(code) &&
        order.includes(label.code!);
      return codes.some((code) => code === label.code || isLower(code));
    }),
  );
  return own && contained.every((one) => isCleared(one, clearances));
}

const labelled = (resource: AnyResource, security: readonly Label[], inside: readonly Label[]): AnyResource => {
  const { contained, ...rest } = resource as AnyResource & { readonly contained?: readonly AnyResource[] };
  const mark = (one: AnyResource, all: readonly Label[]): AnyResource =>
    all.length === 0 ? one : ({ ...one, meta: { security: all } } as AnyResource);
  return {
    ...mark(rest, security),
    ...(contained === undefined ? {} : { contained: contained.map((one) => mark(one, inside)) }),
  };
};
const world = fc
  .record({ content: projectContent, security: fc.array(fc.tuple(labels, labels), { minLength: 40, maxLength: 40 }) })
  .map(({ content, security }) => content.map((one, index) => labelled(one, ...security[index % 40]!)));

const isSame = (one: AnyResource, other: AnyResource): boolean =>
  one.resourceType === other.resourceType && one.id === other.id;

/** Without the elements that the store sets. */
const bare = ({ meta, ...rest }: AnyResource): unknown => ({
  ...rest,
  security: (meta as { readonly security?: unknown } | undefined)?.security,
});

const STORES = [
  ['memory', SEED, IS_LONG ? 40 : IS_WHOLE ? 6 : 3, () => new MemoryStore()],
  ['SQLite', SEED + 1, IS_LONG ? 40 : IS_WHOLE ? 6 : 3, () => new SqliteStore(':memory:', { readers: 0 })],
  ['PostgreSQL', SEED + 2, 1, async () => new PostgresStore(await postgresPool())],
] as const;

describe.each(someOf(STORES, 2))('labels on a %s store', (_, seed, runs, open) => {
  test('hide resources as if they did not exist, on every path', async () => {
    const seen = { shown: 0, hidden: 0 };
    await fc.assert(
      fc.asyncProperty(
        world,
        world,
        clearance,
        fc.subarray([...QUESTIONS], { minLength: 3, maxLength: 6 }),
        async (older, content, clearances, questions) => {
          const store = await open();
          const visible = new MemoryStore();
          await fill(store, 'alpha', older);
          await fill(store, 'alpha', content);
          const current = [...content, ...older.filter((one) => !content.some((other) => isSame(one, other)))];
          await fill(
            visible,
            'alpha',
            current.filter((one) => isCleared(one, clearances)),
          );
          const caller = narrowCaller(await signedIn(store, { project: 'alpha' }), { clearance: clearances });
          const guard = guardStore(store, caller);
          const expected = guardStore(visible, await signedIn(visible, { project: 'alpha' }));
          const isAbsent = (type: string, id: string): boolean =>
            !content.some((one) => one.resourceType === type && one.id === id);
          for (const { type, rest } of questions) {
            const { criteria } = parseSearch(R4, type, rest);
            const [is, shall] = [
              await guard.search({ type, criteria, total: true }),
              await expected.search({ type, criteria, total: true }),
            ];
            expect(
              [rest, is.total, is.matches.map(({ resource }) => resource.id)].slice(type === 'Practitioner' ? 3 : 0),
            ).toEqual(
              [rest, shall.total, shall.matches.map(({ resource }) => resource.id)].slice(
                type === 'Practitioner' ? 3 : 0,
              ),
            );
          }
          for (const type of SAMPLE_TYPES.filter((one) => one !== 'Practitioner')) {
            for (const text of SORTS[type]) {
              const { criteria, sort } = parseSearch(R4, type, `_sort=${text}`);
              const ids = async (from: typeof guard): Promise<unknown> =>
                (await from.search({ type, criteria, sort, offset: 1, limit: 2 })).matches.map(
                  ({ resource }) => resource.id,
                );
              expect(await ids(guard)).toEqual(await ids(expected));
            }
          }
          const targets = ['p1', 'p2', 'p3'].map((id) => ({ type: 'Patient', id }));
          const { criteria } = parseSearch(R4, 'Observation', 'status:not=amended');
          const byReference = async (from: typeof guard): Promise<unknown> =>
            (await from.searchByReference({ type: 'Observation', criteria, total: true }, 'subject', targets)).map(
              ({ matches, total }) => [total, matches.map(({ resource }) => resource.id)],
            );
          expect(await byReference(guard)).toEqual(await byReference(expected));
          // All keys in one call: over a network, each call takes as long as everything else.
          const keys = ALL_KEYS.filter(({ type, id }) => !isAbsent(type, id));
          const [reads, allowed] = [await guard.read(keys), await expected.read(keys)];
          const versionsOf = (key: (typeof keys)[number]): AnyResource[] =>
            [content, older].flatMap((all) => all.filter((one) => one.resourceType === key.type && one.id === key.id));
          const numbered = keys.flatMap((key) =>
            versionsOf(key)
              .toReversed()
              .map((resource, index) => ({ key: { ...key, version: String(index + 1) }, resource })),
          );
          const vreads = await guard.read(numbered.map(({ key }) => key));
          const found = new Map(numbered.map(({ resource }, index) => [resource, vreads[index]!.status]));
          for (const [index, key] of keys.entries()) {
            const [is, shall] = [reads[index]!, allowed[index]!];
            expect(is.status).toBe(shall.status);
            if (is.status === 'found' && shall.status === 'found') {
              expect(bare(is.resource)).toEqual(bare(shall.resource));
            }
            seen[is.status === 'found' ? 'shown' : 'hidden'] += 1;
            // A version is visible if it and the current version are cleared.
            const versions = versionsOf(key);
            const cleared = isCleared(versions[0]!, clearances)
              ? versions.filter((one) => isCleared(one, clearances))
              : [];
            const { entries, total } = await guard.history(key, { offset: 0, limit: 10 });
            expect(entries.map((entry) => (entry.kind === 'put' ? bare(entry.resource) : entry.kind))).toEqual(
              cleared.map((one) => bare(one)),
            );
            expect(total).toBe(cleared.length);
            for (const version of versions) {
              expect(found.get(version)).toBe(cleared.includes(version) ? 'found' : 'missing');
            }
          }
          await store.close();
        },
      ),
      { numRuns: cases(runs), seed },
    );
    if (runs > 1) expect(Math.min(seen.shown, seen.hidden)).toBeGreaterThan(runs);
  });
});

const NORMAL: Clearance = { system: CONFIDENTIALITY, codes: ['N'] };
const observation = (id: string, ...security: readonly Label[]): Observation =>
  ({
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { text: 'x' },
    subject: { reference: 'Patient/ann' },
    ...(security.length === 0 ? {} : { meta: { security } }),
  }) as Observation;

async function ward(store: ResourceStore) {
  const trusted = await system(store);
  await trusted.update({ resourceType: 'Patient', id: 'ann', meta: { security: [confidential('V')] } } as never);
  await trusted.update(observation('open'));
  await trusted.update(observation('normal', confidential('N')));
  await trusted.update(observation('restricted', confidential('R')));
  await trusted.update(observation('unknown', confidential('X')));
  const { membership } = await signedIn(store);
  return { store, trusted, membership };
}

const ids = ({ entry = [] }: Bundle): string => entry.map(({ resource }) => resource!.id).join(' ');

overStores('a clearance', (open) => {
  test('of a member limits all of its policies, and only administrators can set it', async () => {
    const { store, membership } = await ward(open());
    const context = { store, caller: await signedIn(store, { admin: true }) };
    const updated = await updateMember(membership, { clearance: [NORMAL] }, context);
    expect(updated.extension).toEqual([
      {
        url: 'https://fhirgraph.org/fhir/StructureDefinition/clearance',
        extension: [
          { url: 'system', valueUri: CONFIDENTIALITY },
          { url: 'code', valueCode: 'N' },
        ],
      },
    ]);
    const mine = repositoryOf(store, await signIn(store, { membership }));
    expect(ids(await mine.search('Observation', ''))).toBe('normal open');
    expect((await mine.search('Observation', '_total=accurate&_summary=count')).total).toBe(2);
    expect(await codeOf(mine.read('Observation', 'restricted'))).toBe('not-found');
    // Nobody labels above its clearance, or takes a label away that it does not see.
    expect(await codeOf(mine.update(observation('normal', confidential('R'))))).toBe('forbidden');
    expect(await codeOf(mine.update(observation('restricted')))).toBe('not-found');
    expect(await mine.update(observation('open', confidential('L')))).toMatchObject({ id: 'open' });
    expect((await updateMember(membership, { clearance: null }, context)).extension).toBeUndefined();
    const again = repositoryOf(store, await signIn(store, { membership }));
    expect(ids(await again.search('Observation', ''))).toBe('normal open restricted unknown');
    for (const clearance of [
      [{ system: '', codes: [] }],
      [{ codes: ['N'] }],
      [{ system: 'x', codes: 'N' }],
      [{ ...NORMAL, level: 1 }],
      'N',
    ]) {
      expect(await codeOf(updateMember(membership, { clearance: clearance as never }, context))).toBe('invalid');
    }
    const own = { store, caller: context.caller };
    expect(await codeOf(updateMember(context.caller.membership, { clearance: [NORMAL] }, own))).toBe('forbidden');
  });

  test('of a policy limits its rules, which add up with the rules of other policies', async () => {
    const { store, trusted } = await ward(open());
    const extension = [
      {
        url: 'https://fhirgraph.org/fhir/StructureDefinition/clearance',
        extension: [
          { url: 'system', valueUri: CONFIDENTIALITY },
          { url: 'code', valueCode: 'N' },
        ],
      },
    ];
    const policy = {
      resourceType: 'AccessPolicy',
      id: 'cleared',
      extension,
      resource: [{ resourceType: 'Observation' }],
    } as AccessPolicy;
    await trusted.update(policy);
    const { membership } = await signedIn(store, { rules: [{ resourceType: 'Patient' }] });
    const stored = await trusted.read('ProjectMembership', membership);
    const access = [...stored.access!, { policy: { reference: 'AccessPolicy/cleared' } }];
    await trusted.update({ ...stored, access });
    const caller = await signIn(store, { membership });
    const { data } = await executeFhirGraphql(
      '{ ObservationList { id subject { resource { ... on Patient { id } } } } ObservationConnection { count } }',
      { store, caller },
    );
    const subject = { resource: { id: 'ann' } };
    expect(data).toEqual({
      ObservationList: [
        { id: 'normal', subject },
        { id: 'open', subject },
      ],
      ObservationConnection: { count: 2 },
    });
    const context = { store, caller: systemCaller('clinic') };
    const { interactions } = await explainAccess({ of: caller, type: 'Observation', id: 'restricted' }, context);
    expect(interactions.read.reasons?.[0]?.because).toEqual(['the clearance of the policy does not hold']);
    for (const parts of [
      [],
      [{ url: 'code', valueCode: 'N' }],
      [
        { url: 'system', valueUri: 'a' },
        { url: 'system', valueUri: 'b' },
      ],
      [
        { url: 'system', valueUri: 'a' },
        { url: 'level', valueCode: 'N' },
      ],
    ]) {
      const fault = await faultOf(trusted.update({ ...policy, extension: [{ ...extension[0]!, extension: parts }] }));
      expect(fault.message).toContain('extension[0]');
    }
  });

  test('applies to contained, included, referenced and chained resources', async () => {
    const { store, trusted, membership } = await ward(open());
    const secret = { resourceType: 'Patient', id: 'p', meta: { security: [confidential('R')] } } as const;
    await trusted.update({
      resourceType: 'Bundle',
      id: 'b',
      type: 'collection',
      entry: [{ resource: secret as never }],
    });
    await trusted.update({ ...observation('holder'), contained: [secret as never] });
    const mine = repositoryOf(store, narrowCaller(await signIn(store, { membership }), { clearance: [NORMAL] }));
    expect(await codeOf(mine.read('Bundle', 'b'))).toBe('not-found');
    expect(ids(await mine.search('Observation', '_include=Observation:subject'))).toBe('normal open');
    expect(ids(await mine.search('Observation', 'subject:Patient._id=ann'))).toBe('');
    const { data } = await executeFhirGraphql(
      '{ ObservationList { subject { reference resource { ... on Patient { id } } } } }',
      {
        store,
        caller: narrowCaller(await signIn(store, { membership }), { clearance: [NORMAL] }),
      },
    );
    const subject = { reference: 'Patient/ann', resource: null };
    expect(data).toEqual({ ObservationList: [{ subject }, { subject }] });
  });

  test('that is invalid permits nothing clinical', async () => {
    const { store, trusted, membership } = await ward(open());
    const stored = await trusted.read('ProjectMembership', membership);
    await trusted.update({
      ...stored,
      extension: [{ url: 'https://fhirgraph.org/fhir/StructureDefinition/clearance', valueString: 'N' }],
    });
    const mine = repositoryOf(store, await signIn(store, { membership }));
    expect(ids(await mine.search('Observation', ''))).toBe('');
    expect(await mine.read('ProjectMembership', membership)).toMatchObject({ id: membership });
    expect(serverCaller().kind).toBe('server');
  });
});

test('a clearance of another form is refused', async () => {
  const store = new MemoryStore();
  await system(store);
  const caller = await signedIn(store);
  for (const clearance of [
    'N',
    [{}],
    [{ system: '', codes: [] }],
    [{ system: 'x' }],
    [{ system: 'x', codes: [1] }],
    [null],
  ]) {
    expect(() => narrowCaller(caller, { clearance: clearance as never })).toThrow(
      'clearance must be a list of { system, codes }',
    );
  }
  narrowCaller(caller, { clearance: [] });
});
