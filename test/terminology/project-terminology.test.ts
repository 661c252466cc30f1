import { describe, expect, test } from 'vitest';
import { type AnyResource, createRepository, MemoryStore, systemCaller } from '../../src/index.js';
import type { Criteria } from '../../src/store.js';
import { projectTerminology, type TerminologyContext } from '../../src/terminology.js';
import { ANIMALS, FLAT, filter, SETS, SYSTEM, valueSet } from './resources.js';

/** The context of a project with these resources. */
function contextWith(...resources: readonly AnyResource[]): Promise<TerminologyContext> {
  return contextOver(new MemoryStore({ maxResourceValues: 50_000 }), ...resources);
}

async function contextOver(store: MemoryStore, ...resources: readonly AnyResource[]): Promise<TerminologyContext> {
  const repository = createRepository({ store, caller: systemCaller('clinic') });
  for (const resource of resources) await repository.update(resource as never);
  return {
    project: 'clinic',
    async search(type: string, criteria: Criteria): Promise<readonly AnyResource[]> {
      const { matches } = await store.search({ project: 'clinic', type, criteria });
      return matches.map(({ resource }) => resource);
    },
  };
}

async function codesOf(url: string, ...resources: readonly AnyResource[]): Promise<string[]> {
  const context = await contextWith(ANIMALS, ...resources);
  const concepts = await projectTerminology().expand({ kind: 'value-set', url }, context);
  return concepts.map(({ system, code }) => (system === SYSTEM ? code : `${system ?? ''}|${code}`)).sort();
}

const ALL = ['animal', 'bat', 'bird', 'cat', 'dog', 'flyer', 'mammal', 'poodle'];

test.each<[string, object, readonly string[]]>([
  ['a list', { include: [{ system: FLAT, concept: [{ code: 'a' }, { code: 'b' }] }] }, [`${FLAT}|a`, `${FLAT}|b`]],
  ['a system', { include: [{ system: SYSTEM }] }, ALL],
  ['is-a', filter('concept', 'is-a', 'mammal'), ['bat', 'cat', 'dog', 'mammal', 'poodle']],
  ['is-a over a second parent', filter('concept', 'is-a', 'flyer'), ['bat', 'bird', 'flyer']],
  ['descendent-of', filter('code', 'descendent-of', 'dog'), ['poodle']],
  ['is-not-a', filter('concept', 'is-not-a', 'mammal'), ['animal', 'bird', 'flyer']],
  ['generalizes', filter('concept', 'generalizes', 'bat'), ['animal', 'bat', 'flyer', 'mammal']],
  ['a property', filter('legs', '=', '2'), ['bat', 'bird']],
  ['a property in', filter('legs', 'in', '4, 6'), ['cat']],
  ['a property not in', filter('legs', 'not-in', '2,4'), ['animal', 'dog', 'flyer', 'mammal', 'poodle']],
  ['a property that exists', filter('legs', 'exists', 'true'), ['bat', 'bird', 'cat']],
  ['a code in', filter('code', 'in', 'cat,dog'), ['cat', 'dog']],
  ['a display', filter('display', '=', 'Cat'), ['cat']],
  [
    'without what is excluded',
    {
      include: [{ system: SYSTEM }],
      exclude: [{ system: SYSTEM, filter: [{ property: 'concept', op: 'is-a', value: 'mammal' }] }],
    },
    ['animal', 'bird', 'flyer'],
  ],
  ['without inactive codes', { inactive: false, ...filter('concept', 'is-a', 'dog') }, ['dog']],
  [
    'several filters',
    {
      include: [
        {
          system: SYSTEM,
          filter: [
            { property: 'concept', op: 'is-a', value: 'flyer' },
            { property: 'legs', op: '=', value: '2' },
          ],
        },
      ],
    },
    ['bat', 'bird'],
  ],
  ['another value set', { include: [{ valueSet: [`${SETS}flyers`] }] }, ['bat', 'bird', 'flyer']],
  [
    'codes of a system and a value set',
    {
      include: [
        { system: SYSTEM, filter: [{ property: 'concept', op: 'is-a', value: 'mammal' }], valueSet: [`${SETS}flyers`] },
      ],
    },
    ['bat'],
  ],
  ['nothing', { include: [] }, []],
])('a value set of %s', async (_, compose, expected) => {
  const flyers = valueSet('flyers', filter('concept', 'is-a', 'flyer'));
  expect(await codesOf(`${SETS}own`, flyers, valueSet('own', compose))).toEqual(expected);
  expect(await codesOf('ValueSet/own', flyers, valueSet('own', compose))).toEqual(expected);
});

const nowhere = { include: [{ system: 'urn:nowhere' }] };
const contains = [
  { abstract: true, contains: [{ system: FLAT, code: 'a' }] },
  { system: FLAT, code: 'b' },
];

test('a stored expansion is used if the code system is missing, unless it has more pages', async () => {
  const codes = [`${FLAT}|a`, `${FLAT}|b`];
  expect(await codesOf(`${SETS}own`, valueSet('own', nowhere, { expansion: { contains } }))).toEqual(codes);
  expect(await codesOf(`${SETS}own`, valueSet('own', undefined, { expansion: { contains } }))).toEqual(codes);
  const cut = valueSet('own', nowhere, { expansion: { contains, total: 9 } });
  await expect(codesOf(`${SETS}own`, cut)).rejects.toMatchObject({ code: 'invalid' });
});

test.each<[string, readonly AnyResource[], string, string]>([
  ['an unknown value set', [], 'invalid', 'Unknown value set "https://clinic.example/ValueSet/own"'],
  ['an unknown code system', [valueSet('own', nowhere)], 'invalid', 'Unknown code system "urn:nowhere"'],
  [
    'an unknown version',
    [valueSet('own', { include: [{ system: SYSTEM, version: '9' }] })],
    'invalid',
    'Unknown code system',
  ],
  ['an unknown code', [valueSet('own', filter('concept', 'is-a', 'unicorn'))], 'invalid', 'no such code'],
  [
    'a filter by pattern',
    [valueSet('own', filter('code', 'regex', '(a+)+$'))],
    'unsupported',
    'filters "code" by "regex"',
  ],
  ['a value set without content', [valueSet('own', undefined)], 'unsupported', 'neither a definition'],
  [
    'a circle',
    [
      valueSet('own', { include: [{ valueSet: [`${SETS}other`] }] }),
      valueSet('other', { include: [{ valueSet: [`${SETS}own`] }] }),
    ],
    'invalid',
    'includes itself',
  ],
  [
    'a code system that is not complete',
    [
      valueSet('own', { include: [{ system: FLAT }] }),
      { ...ANIMALS, id: 'flat', url: FLAT, content: 'fragment' } as AnyResource,
    ],
    'unsupported',
    'not all of them are available here',
  ],
  [
    'a hierarchy of groups',
    [
      valueSet('own', { include: [{ system: FLAT, filter: [{ property: 'concept', op: 'is-a', value: 'mammal' }] }] }),
      { ...ANIMALS, id: 'flat', url: FLAT, hierarchyMeaning: 'grouped-by' } as AnyResource,
    ],
    'unsupported',
    'hierarchyMeaning of the code system is not is-a',
  ],
  [
    'too many codes',
    [
      valueSet('own', {
        include: [{ system: FLAT, concept: Array.from({ length: 10_001 }, (_, n) => ({ code: `c${n}` })) }],
      }),
    ],
    'too-costly',
    'more than 10000 codes',
  ],
])('%s is an error', async (_, resources, code, message) => {
  await expect(codesOf(`${SETS}own`, ...resources)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message) as string,
  });
});

test('above, below, subsumes and lookup follow the hierarchy, including circles', async () => {
  const circle = {
    ...{ resourceType: 'CodeSystem', id: 'circle', url: FLAT, status: 'active', content: 'complete' },
    concept: [
      { code: 'a', property: [{ code: 'parent', valueCode: 'b' }] },
      { code: 'b', property: [{ code: 'parent', valueCode: 'a' }] },
    ],
  };
  const context = await contextWith(ANIMALS, circle);
  const terminology = projectTerminology();
  const codes = async (kind: 'above' | 'below', system: string, code: string): Promise<string[]> =>
    (await terminology.expand({ kind, system, code }, context)).map((concept) => concept.code).sort();
  expect(await codes('below', SYSTEM, 'dog')).toEqual(['dog', 'poodle']);
  expect(await codes('above', SYSTEM, 'bat')).toEqual(['animal', 'bat', 'flyer', 'mammal']);
  expect(await codes('below', FLAT, 'a')).toEqual(['a', 'b']);
  const relation = (codeA: string, codeB: string): Promise<string> =>
    terminology.subsumes({ system: SYSTEM, codeA, codeB }, context);
  expect([
    await relation('mammal', 'poodle'),
    await relation('poodle', 'mammal'),
    await relation('dog', 'dog'),
    await relation('dog', 'cat'),
  ]).toEqual(['subsumes', 'subsumed-by', 'equivalent', 'not-subsumed']);
  expect(await terminology.lookup({ system: SYSTEM, code: 'cat' }, context)).toEqual({
    system: SYSTEM,
    code: 'cat',
    display: 'Cat',
  });
  expect(await terminology.lookup({ system: SYSTEM, code: 'unicorn' }, context)).toBeUndefined();
});

test('the active and highest version is used, or exactly the named version; the project takes precedence over the host', async () => {
  const version = (id: string, status: string, number: string, code: string): AnyResource =>
    valueSet('own', { include: [{ system: FLAT, concept: [{ code }] }] }, { id, status, version: number });
  const resources = [
    version('1', 'active', '1.9', 'old'),
    version('2', 'active', '1.10', 'new'),
    version('3', 'draft', '2.0', 'next'),
  ];
  expect(await codesOf(`${SETS}own`, ...resources)).toEqual([`${FLAT}|new`]);
  expect(await codesOf(`${SETS}own|1.9`, ...resources)).toEqual([`${FLAT}|old`]);
  const given = projectTerminology({
    resources: [version('x', 'active', '9', 'host'), version('y', 'active', '8', 'former')],
  });
  const expand = async (url: string, context: TerminologyContext): Promise<string[]> =>
    (await given.expand({ kind: 'value-set', url }, context)).map(({ code }) => code);
  expect(await expand(`${SETS}own`, await contextWith())).toEqual(['host']);
  expect(await expand(`${SETS}own|8`, await contextWith())).toEqual(['former']);
  expect(await expand(`${SETS}own`, await contextWith(...resources))).toEqual(['new']);
});

describe('expansions are cached by the versions of their definitions', () => {
  const mammals = { kind: 'value-set', url: `${SETS}mammals` } as const;

  test('the same versions give the same expansion, found again in one round', async () => {
    const terminology = projectTerminology();
    const inner = valueSet('inner', filter('concept', 'is-a', 'mammal'));
    const outer = valueSet('mammals', { include: [{ valueSet: [`${SETS}inner`] }] });
    const context = await contextWith(ANIMALS, inner, outer);
    const rounds: string[][] = [];
    let open = 0;
    const counted: TerminologyContext = {
      ...context,
      async search(type, criteria) {
        if (open === 0) rounds.push([]);
        rounds.at(-1)!.push(type);
        open += 1;
        const found = await context.search(type, criteria);
        open -= 1;
        return found;
      },
    };
    const first = await terminology.expand(mammals, counted);
    expect(first.map(({ code }) => code).sort()).toEqual(['bat', 'cat', 'dog', 'mammal', 'poodle']);
    expect(rounds.splice(0)).toEqual([['ValueSet'], ['ValueSet'], ['CodeSystem']]);
    expect(await terminology.expand(mammals, counted)).toBe(first);
    expect(rounds).toEqual([['ValueSet'], ['ValueSet', 'CodeSystem']]);
  });

  test.each<[string, object]>([
    ['the value set', valueSet('mammals', filter('concept', 'is-a', 'dog'))],
    ['a value set inside', valueSet('inner', filter('concept', 'is-a', 'dog'))],
    ['its code system', { ...ANIMALS, concept: [{ code: 'mammal', concept: [{ code: 'dog' }] }] }],
    ['a code system of higher version', { ...ANIMALS, id: 'next', version: '2', concept: [{ code: 'mammal' }] }],
  ])('another version of %s gives another expansion', async (_, changed) => {
    const terminology = projectTerminology();
    const resources = [
      ANIMALS,
      valueSet('inner', filter('concept', 'is-a', 'mammal')),
      valueSet('mammals', { include: [{ valueSet: [`${SETS}inner`] }] }),
    ];
    const store = new MemoryStore();
    const context = await contextOver(store, ...resources);
    const before = await terminology.expand(mammals, context);
    await contextOver(store, changed as AnyResource);
    const after = await terminology.expand(mammals, context);
    expect(after.length).toBeLessThan(before.length);
    expect(after).toEqual(await projectTerminology().expand(mammals, context));
  });

  test('an expansion that used its stored form is rebuilt when the code system arrives', async () => {
    const terminology = projectTerminology();
    const store = new MemoryStore();
    const stored = { contains: [{ system: SYSTEM, code: 'cat' }] };
    const set = { ...valueSet('mammals', filter('concept', 'is-a', 'dog')), expansion: stored };
    const context = await contextOver(store, set);
    const codes = async () => (await terminology.expand(mammals, context)).map(({ code }) => code).sort();
    expect(await codes()).toEqual(['cat']);
    await contextOver(store, ANIMALS);
    expect(await codes()).toEqual(['dog', 'poodle']);
  });

  test('a value set of the host has the code systems of each project', async () => {
    const terminology = projectTerminology({ resources: [valueSet('mammals', filter('concept', 'is-a', 'dog'))] });
    const one = await contextWith(ANIMALS);
    const other = { ...(await contextWith({ ...ANIMALS, concept: [{ code: 'dog' }] } as AnyResource)), project: 'b' };
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await terminology.expand(mammals, one)).toHaveLength(2);
      expect(await terminology.expand(mammals, other)).toHaveLength(1);
    }
  });

  test('at most 200,000 codes are cached in total; older expansions are dropped', async () => {
    const terminology = projectTerminology();
    const sets = Array.from({ length: 21 }, (_, number) =>
      valueSet(`set${number}`, {
        include: [{ system: 'urn:x', concept: Array.from({ length: 9_999 }, (_, n) => ({ code: `${number}-${n}` })) }],
      }),
    );
    const context: TerminologyContext = {
      project: 'clinic',
      search: (_, criteria) =>
        Promise.resolve(sets.filter(({ url }) => JSON.stringify(criteria).includes(`"${String(url)}"`))),
    };
    const expand = (number: number) => terminology.expand({ kind: 'value-set', url: `${SETS}set${number}` }, context);
    const first = await expand(0);
    expect(await expand(0)).toBe(first);
    for (let number = 1; number <= 20; number += 1) await expand(number);
    expect(await expand(20)).toBe(await expand(20));
    const again = await expand(0);
    expect(again).not.toBe(first);
    expect(again).toEqual(first);
  });
});
