import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AnyResource,
  type Caller,
  createRepository,
  executeFhirGraphql,
  importBundle,
  MemoryStore,
  type ResourceStore,
} from '../../src/index.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { maskError } from '../../src/fhir/error.js';
import { cases, IS_WHOLE, SEED } from '../support/chance.js';
import { Oracle } from './oracle.js';
import { enrol, HIDEABLE, type MemberSetup, type RuleJson } from './policies.js';
import { fill, plain, resourceOf, type Json } from './world.js';

const RUNS = IS_WHOLE ? 60 : 24;

const TYPES = ['Patient', 'Observation'] as const;
const KEYS = [
  { type: 'Patient', id: 'p2' },
  { type: 'Patient', id: 'p3' },
  { type: 'Observation', id: 'o1' },
  { type: 'Observation', id: 'o2' },
] as const;

/** Elements that the criteria read are never hidden: a policy can reveal the elements that it decides by. */
const CRITERIA = { Patient: 'Patient?language=en', Observation: 'Observation?_id=o1' } as const;
const INTERACTIONS = [
  undefined,
  ['read', 'vread', 'search', 'history', 'update'],
  ['read', 'search', 'create', 'update'],
  ['read', 'search', 'vread', 'history'],
  ['update', 'create'],
] as const;

const rule: fc.Arbitrary<RuleJson> = fc.constantFrom(...TYPES).chain((resourceType) =>
  fc.record({
    resourceType: fc.constant(resourceType),
    criteria: fc.constantFrom(undefined, undefined, CRITERIA[resourceType]),
    interaction: fc.constantFrom(...INTERACTIONS),
    hiddenFields: fc.uniqueArray(fc.constantFrom(...HIDEABLE[resourceType], 'meta.tag'), {
      minLength: 1,
      maxLength: 3,
    }),
    readonlyFields: fc.constantFrom(undefined, ['language']),
  }),
);
const setups: fc.Arbitrary<MemberSetup> = fc.array(rule, { minLength: 1, maxLength: 4 }).map((resource) => ({
  profile: 'Practitioner/dr1',
  policies: [{ resource }],
  access: [{ policy: 0, parameters: [{ name: 'state', valueString: 'final' }] }],
}));

const stored = fc.tuple(
  ...KEYS.map(({ type, id }) =>
    fc
      .tuple(resourceOf(type, id), fc.constantFrom('en', 'de'))
      .map(([one, language]) => plain({ ...(one as unknown as Json), language, meta: { tag: [{ code: 't' }] } })),
  ),
);

/** One attempt to write: a drawn resource, or the shown resource with one of its elements; or a patch of a path. */
interface Attempt {
  readonly kind: 'replace' | 'change' | 'create' | 'claim' | 'mutate' | 'bundle' | 'delete';
  readonly drawn: AnyResource;
  readonly element: number;
}
const attempts = fc.array(
  fc.constantFrom(...KEYS).chain(({ type, id }) =>
    fc.record<Attempt>({
      kind: fc.constantFrom('replace', 'change', 'change', 'change', 'create', 'claim', 'mutate', 'bundle', 'delete'),
      drawn: resourceOf(type, id),
      element: fc.nat(20),
    }),
  ),
  { minLength: 6, maxLength: 6 },
);

test('two data sets that differ only in what a caller cannot see give the same answers to its writes', async () => {
  let [accepted, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(setups, stored, attempts, fc.boolean(), async (setup, content, all, strictMode) => {
      const whole = await world(setup, content, strictMode);
      const bare = await world(setup, shownOf(setup, content), strictMode);
      for (const attempt of all) {
        const [one, other] = [await whole.answer(attempt), await bare.answer(attempt)];
        expect(one).toEqual(other);
        if (one.includes('"code":')) refused += 1;
        else accepted += 1;
      }
      const path = all[0]!.element;
      expect(await whole.probe(path)).toEqual(await bare.probe(path));
      expect(await whole.seen()).toEqual(await bare.seen());
    }),
    { numRuns: cases(RUNS), seed: SEED },
  );
  expect(Math.min(accepted, refused)).toBeGreaterThan(cases(RUNS) / 3);
});

/** The world without anything that the caller is not shown. */
function shownOf(setup: MemberSetup, content: readonly AnyResource[]): AnyResource[] {
  const oracle = new Oracle(content, setup);
  return content.flatMap((one) => {
    const readers = oracle.granting('read', one);
    if (readers.length > 0) return [oracle.mask(one, readers)];
    const granted = (['update', 'delete'] as const).some((interaction) => oracle.granting(interaction, one).length > 0);
    const { resourceType, id, language } = one as AnyResource & { language: string };
    return granted ? [plain({ resourceType, id, language })] : [];
  });
}

async function world(setup: MemberSetup, content: readonly AnyResource[], strictMode: boolean) {
  const inner = new MemoryStore({ clock: () => new Date('2026-01-01T00:00:00Z') });
  await fill(inner, 'alpha', [plain({ resourceType: 'Practitioner', id: 'dr1' }), ...content]);
  const project = plain({ resourceType: 'Project', id: 'alpha', name: 'alpha', strictMode });
  await inner.commit([{ kind: 'put', key: { project: '', type: 'Project', id: 'alpha' }, resource: project }]);
  const caller: Caller = await enrol(inner, 'alpha', setup);
  const calls: string[] = [];
  const store = counted(inner, calls);
  const repository = createRepository({ store, caller });
  const told = async (call: Promise<unknown>): Promise<string> => {
    calls.length = 0;
    const answer = await call.catch((error: unknown) => {
      const { code, message, details, outcome } = maskError(error);
      return { code, message, details, outcome };
    });
    return withoutRandomIds(JSON.stringify([answer, calls]));
  };
  const readAll = () => Promise.all(KEYS.map(({ type, id }) => repository.read(type, id).catch(() => undefined)));
  return {
    answer: async ({ kind, drawn, element }: Attempt): Promise<string> => {
      const key = { type: drawn.resourceType, id: drawn.id! };
      const seen = (await readAll()).find((one) => one?.resourceType === key.type && one.id === key.id);
      const names = Object.keys(drawn).filter((name) => name !== 'resourceType' && name !== 'id');
      const name = names[element % names.length]!;
      const changed = plain({ ...((seen ?? drawn) as unknown as Json), [name]: (drawn as unknown as Json)[name] });
      const guard = guardStore(store, caller);
      switch (kind) {
        case 'replace':
          return told(guard.commit([{ kind: 'put', key, resource: drawn }]));
        case 'change':
          return told(repository.update(changed as never));
        case 'create':
          return told(repository.create(drawn as never));
        case 'claim':
          return told(guard.commit([{ kind: 'put', key, resource: drawn, expect: { version: null } }]));
        case 'mutate':
          return told(
            executeFhirGraphql(
              `mutation($res: ${key.type}Input!) { ${key.type}Update(id: "${key.id}", res: $res) { id } }`,
              { store, caller, variables: { res: changed } },
            ),
          );
        case 'bundle': {
          const request = { method: 'PUT', url: `${key.type}/${key.id}` };
          return told(
            importBundle({ resourceType: 'Bundle', type: 'batch', entry: [{ resource: changed, request }] }, { store, caller }), // prettier-ignore
          );
        }
        case 'delete':
          return told(repository.delete(key.type as 'Patient', key.id));
      }
    },
    /** Patches of paths that can be hidden. */
    probe: async (path: number): Promise<readonly string[]> => {
      const answers: string[] = [];
      for (const { type, id } of KEYS) {
        const fields = HIDEABLE[type];
        const pointer = `/${fields[path % fields.length]!.replace(/\./g, '/0/')}`;
        for (const operation of [
          { op: 'test', path: pointer, value: '1970-01-01' },
          { op: 'copy', from: pointer, path: '/language' },
          { op: 'move', from: pointer, path: '/language' },
          { op: 'remove', path: pointer },
          { op: 'add', path: pointer, value: 'x' },
        ]) {
          answers.push(await told(repository.patch(type, id, [operation] as never)));
        }
      }
      return answers;
    },
    seen: async () => {
      const { entry = [] } = await repository.search('Patient', '');
      const found = entry.map((one) => withoutRandomIds(JSON.stringify(one)));
      const isCreated = (one: string): boolean => one.includes('UUID');
      // Random ids put created resources in a random order.
      const created = found.filter(isCreated).sort();
      return [JSON.stringify(await readAll()), created, found.filter((one) => !isCreated(one))];
    },
  };
}

/** Created resources get a random id. */
function withoutRandomIds(json: string): string {
  return json.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID');
}

/** The store, with the names of the calls to it written down. */
function counted(store: ResourceStore, calls: string[]): ResourceStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        calls.push(String(name));
        return Reflect.apply(member, target, given) as unknown;
      };
    },
  });
}
