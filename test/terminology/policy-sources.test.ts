import { describe, expect, test } from 'vitest';
import type { AccessPolicy, Resource } from '@medplum/fhirtypes';
import {
  type AnyResource,
  type MemberCaller,
  MemoryStore,
  type Repository,
  type ResourceStore,
  signIn,
} from '../../src/index.js';
import { projectTerminology, withTerminology } from '../../src/terminology.js';
import { repositoryOf, signedIn, system } from '../repository/harness.js';

type Rules = NonNullable<AccessPolicy['resource']>;

const SYSTEM = 'urn:codes';
const URL = 'https://clinic.example/ValueSet/own';

/** A ValueSet of these codes, of a project or of the host. */
function valueSet(id: string, codes: readonly string[], more: object = {}): AnyResource {
  const compose = { include: [{ system: SYSTEM, concept: codes.map((code) => ({ code })) }] };
  return { resourceType: 'ValueSet', id, url: URL, status: 'active', compose, ...more } as AnyResource;
}

function codeSystem(...children: readonly string[]): AnyResource {
  const concept = [{ code: 'a', concept: children.map((code) => ({ code })) }, { code: 'c' }];
  return {
    ...{ resourceType: 'CodeSystem', id: 'codes', url: SYSTEM, status: 'active', content: 'complete' },
    concept,
  } as AnyResource;
}

const INCLUDING = { compose: { include: [{ valueSet: [`${URL}/inner`] }] } };
const BELOW = { compose: { include: [{ system: SYSTEM, filter: [{ property: 'concept', op: 'is-a', value: 'a' }] }] } };

interface Clinic {
  readonly store: ResourceStore;
  readonly trusted: Repository;
  readonly administrator: Repository;
}

/** A clinic with observations `a`, `b` and `c`. */
async function clinic(...host: readonly AnyResource[]): Promise<Clinic> {
  const store = withTerminology(new MemoryStore(), projectTerminology({ resources: host }));
  const trusted = await system(store);
  for (const code of ['a', 'b', 'c'])
    await trusted.update({ resourceType: 'Observation', id: code, status: 'final', code: { coding: [{ system: SYSTEM, code }] } }); // prettier-ignore
  const administrator = repositoryOf(store, await signedIn(store, { admin: true }));
  return { store, trusted, administrator };
}

const rulesOf = (criteria: string): Rules => [
  { resourceType: 'Observation', criteria: `Observation?${criteria}` },
  { resourceType: 'ValueSet' },
  { resourceType: 'CodeSystem' },
];

/** What the member sees after it signs in again; or the message of its refusal. */
async function seenBy(store: ResourceStore, { membership }: MemberCaller): Promise<unknown> {
  const signed = await signIn(store, { membership }).catch((error: unknown) => String(error));
  if (typeof signed === 'string') return signed;
  const { entry = [] } = await repositoryOf(store, signed).search('Observation', '_sort=_id');
  return entry.map(({ resource }) => resource?.id);
}

const put = (repository: Repository, resource: AnyResource): Promise<unknown> =>
  repository.update(resource as Resource);

const NOT_COUNTED = /policy-invalid|ValueSet\/own does not count|CodeSystem\/codes does not count/;

describe('a policy is expanded from what its subject cannot write', () => {
  test('a member who writes a value set of the same url gains nothing, whatever its version', async () => {
    const { store, trusted } = await clinic();
    await put(trusted, valueSet('own', ['a'], { version: '1' }));
    for (const criteria of [`code:in=${URL}`, `code:in=${URL}|1`, `_filter=code in ${URL}`]) {
      const caller = await signedIn(store, { rules: rulesOf(criteria) });
      const mine = repositoryOf(store, caller);
      expect(await seenBy(store, caller)).toEqual(['a']);
      for (const version of ['1', '2']) await put(mine, valueSet(`mine-${version}`, ['a', 'b', 'c'], { version }));
      expect(await seenBy(store, caller)).toEqual(['a']);
      // Its own searches use what it can read.
      const { entry } = await mine.search('ValueSet', `url=${URL}&version=2`);
      expect(entry?.length).toBeGreaterThan(0);
    }
    const caller = await signedIn(store, { rules: rulesOf(`code:not-in=${URL}`) });
    expect(await seenBy(store, caller)).toEqual(['b', 'c']);
  });

  test('a member who writes hundreds of value sets of the same url does not displace those that count', async () => {
    const { store, trusted } = await clinic();
    await put(trusted, valueSet('m-old', ['a', 'b'], { version: '1' }));
    await put(trusted, valueSet('z-new', ['a'], { version: '2' }));
    const caller = await signedIn(store, { rules: rulesOf(`code:in=${URL}`) });
    const mine = repositoryOf(store, caller);
    for (let count = 0; count < 120; count++) {
      await put(mine, valueSet(`n${count}`, ['c'], { version: '9' }));
      await put(mine, valueSet(`a${count}`, ['c'], { version: '9' }));
    }
    expect(await seenBy(store, caller)).toEqual(['a']);
  });

  test.each<[string, string, readonly AnyResource[], AnyResource]>([
    ['the value set', `code:in=${URL}`, [valueSet('own', ['a'])], valueSet('own', ['a', 'b'])],
    ['the value set by its id', 'code:in=ValueSet/own', [valueSet('own', ['a'])], valueSet('own', ['a', 'b'])],
    ['the value set that it excludes', `code:not-in=${URL}`, [valueSet('own', ['b', 'c'])], valueSet('own', [])],
    [
      'an included value set',
      `code:in=${URL}`,
      [valueSet('outer', [], INCLUDING), valueSet('own', ['a'], { url: `${URL}/inner` })],
      valueSet('own', ['a', 'b'], { url: `${URL}/inner` }),
    ],
    ['the hierarchy of codes', `code:below=${SYSTEM}|a`, [codeSystem()], codeSystem('b')],
    ['the code system of a filter', `code:in=${URL}`, [codeSystem(), valueSet('outer', [], BELOW)], codeSystem('b')],
  ])(
    'a member who changes %s cannot sign in until an administrator writes it',
    async (_, criteria, before, changed) => {
      const { store, trusted, administrator } = await clinic();
      for (const resource of before) await put(trusted, resource);
      const caller = await signedIn(store, { rules: rulesOf(criteria) });
      const other = await signedIn(store, { rules: rulesOf(criteria) });
      expect(await seenBy(store, caller)).toEqual(['a']);
      await put(repositoryOf(store, caller), changed);
      for (const one of [caller, other]) expect(await seenBy(store, one)).toMatch(NOT_COUNTED);
      await put(
        administrator,
        before.find(({ id }) => id === changed.id)!,
      );
      for (const one of [caller, other]) expect(await seenBy(store, one)).toEqual(['a']);
    },
  );

  test('an administrator counts for others, not for a policy that binds itself', async () => {
    const { store } = await clinic();
    const bound = await signedIn(store, { admin: true, rules: rulesOf('status=final') });
    await put(repositoryOf(store, bound), valueSet('own', ['a', 'b']));
    const caller = await signedIn(store, { rules: rulesOf(`code:in=${URL}`) });
    expect(await seenBy(store, caller)).toEqual(['a', 'b']);
    const itself = { admin: true, rules: rulesOf(`code:in=${URL}`) };
    const trusted = await system(store);
    const own = await signedIn(store, itself);
    await put(repositoryOf(store, own), valueSet('own', ['a', 'b', 'c']));
    expect(await seenBy(store, own)).toMatch(NOT_COUNTED);
    await put(trusted, valueSet('own', ['a']));
    expect(await seenBy(store, own)).toEqual(['a']);
  });

  test('the resources of the host come before those of the project, of a named version or any', async () => {
    const host = [valueSet('x', ['a'], { version: '1' }), valueSet('y', ['a', 'b'], { version: '2', status: 'draft' })];
    const { store, administrator } = await clinic(...host);
    for (const version of ['1', '9']) await put(administrator, valueSet(`p${version}`, ['c'], { version }));
    const seen = async (criteria: string): Promise<unknown> =>
      seenBy(store, await signedIn(store, { rules: rulesOf(criteria) }));
    expect(await seen(`code:in=${URL}`)).toEqual(['a']);
    expect(await seen(`code:in=${URL}|1`)).toEqual(['a']);
    expect(await seen(`code:in=${URL}|2`)).toEqual(['a', 'b']);
    expect(await seen(`code:in=${URL}|9`)).toEqual(['c']);
    const searched = async (canonical: string): Promise<unknown> =>
      (await administrator.search('Observation', `code:in=${canonical}&_sort=_id`)).entry?.map(
        ({ resource }) => resource?.id,
      );
    // In searches the host's come first where the version is named.
    expect(await searched(`${URL}|1`)).toEqual(['a']);
    expect(await searched(URL)).toEqual(['c']);
  });
});
