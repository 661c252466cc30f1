import { pieces, textOf, type HostileDocument } from './hostile-document.js';

/** Mutations that write too much at once, or contain values that no resource should have. */
export const HOSTILE_MUTATIONS: readonly HostileDocument[] = [
  {
    name: '700 creations under aliases',
    make: textOf(() => `mutation { ${pieces(700, (index) => `a${index}: PatientCreate(res: {}) { id }`)} }`),
    outcome: 'too-costly',
    limit: 'writes',
    parsed: true,
  },
  {
    name: '700 deletions of one patient',
    make: textOf(() => `mutation { ${pieces(700, (index) => `a${index}: PatientDelete(id: "1") { id }`)} }`),
    outcome: 'too-costly',
    limit: 'writes',
  },
  {
    name: 'a resource of 2,000 unknown elements',
    make: textOf(() => `mutation { PatientCreate(res: { ${pieces(2000, (index) => `nmae${index}: 1`)} }) { id } }`),
    outcome: 'invalid',
  },
  creation(
    'a resource of 2,000 unknown elements in a variable',
    () => Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`nmae${index}`, index])),
    'invalid',
  ),
  creation('a resource that nests 20,000 levels', () => extension(20_000), 'too-costly'),
  creation('a resource that nests 90 levels', () => extension(40), 'invalid'),
  creation(
    'a resource of 100,000 names of the wrong type',
    () => ({ name: new Array<number>(100_000).fill(1) }),
    'too-costly',
  ),
  creation('a resource of 10 MB', () => ({ name: [{ text: 'x'.repeat(10_000_000) }] }), 'too-costly'),
  creation('a resource with a prototype', () => JSON.parse('{ "__proto__": { "active": true } }') as object, 'invalid'),
  {
    name: 'a patch of 20,000 operations',
    make: () => ({
      query: 'mutation ($patch: [PatchOperation!]!) { PatientPatch(id: "1", patch: $patch) { id } }',
      variables: { patch: Array.from({ length: 20_000 }, () => ({ op: 'copy', from: '/name', path: '/name/0' })) },
    }),
    outcome: 'too-costly',
  },
  {
    name: 'a patch that doubles a name 60 times',
    make: () => ({
      query: 'mutation ($patch: [PatchOperation!]!) { PatientPatch(id: "1", patch: $patch) { id } }',
      variables: {
        patch: Array.from({ length: 60 }, () => ({ op: 'copy', from: '/name', path: '/name/-' })),
      },
    }),
    outcome: 'too-costly',
  },
];

function creation(name: string, make: () => object, outcome: HostileDocument['outcome']): HostileDocument {
  const query = 'mutation ($res: PatientInput!) { PatientCreate(res: $res) { id } }';
  return { name, make: () => ({ query, variables: { res: make() } }), outcome };
}

function extension(levels: number): object {
  let inner: object = { url: 'urn:x' };
  for (let level = 0; level < levels; level += 1) inner = { url: 'urn:x', extension: [inner] };
  return { extension: [inner], birthDate: 5 };
}
