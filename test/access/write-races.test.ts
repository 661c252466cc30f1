import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createRepository,
  executeFhirGraphql,
  importBundle,
  MemoryStore,
  type ResourceStore,
  serverCaller,
} from '../../src/index.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { maskError } from '../../src/fhir/error.js';
import { cases, SEED } from '../support/chance.js';
import { enrol, type RuleJson } from './policies.js';
import { fill, plain } from './world.js';

const CHAINED: RuleJson = { resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender=female' };
const RULES: readonly (readonly RuleJson[])[] = [
  [CHAINED],
  [{ ...CHAINED, interaction: ['update', 'delete', 'create'] }],
  [CHAINED, { resourceType: 'Observation', criteria: 'Observation?status=final&subject:Patient.gender=female' }],
  [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }, { resourceType: 'Binary' }],
];
const KEYS = [
  { type: 'Patient', id: 'p' },
  { type: 'Observation', id: 'o' },
  { type: 'Binary', id: 'b' },
] as const;

/** The contents while the Patient is visible, and while it is not. */
function world(visible: boolean) {
  const text = visible ? 'SHOWN' : 'HIDDEN';
  return {
    patient: plain({ resourceType: 'Patient', id: 'p', gender: visible ? 'female' : 'male', name: [{ text }] }),
    others: [
      plain({ resourceType: 'Observation', id: 'o', status: 'final', code: { text }, subject: { reference: 'Patient/p' } }), // prettier-ignore
      plain({ resourceType: 'Binary', id: 'b', contentType: 'text/plain', language: text, securityContext: { reference: 'Patient/p' } }), // prettier-ignore
    ],
  };
}

const attempt = fc.record({
  kind: fc.constantFrom('patch', 'update', 'create', 'delete', 'mutate', 'batch', 'transaction', 'read', 'search'),
  key: fc.constantFrom(...KEYS),
});

/** Whether the other writer comes before a call, and whether it changes the Patient alone. */
const interruptions = fc.array(fc.option(fc.boolean(), { nil: undefined }), { minLength: 40, maxLength: 40 });

test('while other callers change the rights, no invisible resource is written or shown', async () => {
  let written = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...RULES),
      fc.array(attempt, { minLength: 5, maxLength: 5 }),
      interruptions,
      fc.boolean(),
      async (rules, attempts, moments, alone) => {
        let visible = true;
        const inner = new MemoryStore();
        const first = world(visible);
        await fill(inner, 'alpha', [
          plain({ resourceType: 'Practitioner', id: 'dr1' }),
          first.patient,
          ...first.others,
        ]);
        const caller = await enrol(inner, 'alpha', {
          profile: 'Practitioner/dr1',
          policies: [{ resource: rules }],
          access: [{ policy: 0, parameters: [] }],
        });
        const trusted = guardStore(inner, serverCaller('alpha'));
        let at = 0;
        const store = between(inner, async (method, given) => {
          if (moments[at++ % moments.length] !== undefined) {
            visible = !visible;
            const { patient, others } = world(visible);
            await trusted.commit(
              [patient, ...(alone ? [] : others)].map((resource) => ({
                kind: 'put',
                key: { type: resource.resourceType, id: resource.id! },
                resource,
              })),
            );
          }
          return method === 'commit' && !visible && given.includes('"kind":"put"') ? 'unseen' : 'seen';
        });
        const repository = createRepository({ store, caller });
        for (const { kind, key } of attempts) {
          const { type, id } = key;
          const request = async (): Promise<unknown> => {
            const fresh = world(true).others[0]!;
            switch (kind) {
              case 'patch':
                return repository.patch(type, id, [{ op: 'add', path: '/implicitRules', value: 'x' }]);
              case 'update':
                return repository.update((await repository.read(type, id)) as never);
              case 'create':
                return repository.create(fresh as never);
              case 'delete':
                return repository.delete(type, id);
              case 'mutate':
                return executeFhirGraphql(`mutation { ${type}Delete(id: "${id}") }`, { store, caller });
              case 'batch':
              case 'transaction': {
                const entry = [{ resource: fresh, request: { method: 'PUT', url: 'Observation/o' } }];
                return importBundle({ resourceType: 'Bundle', type: kind, entry }, { store, caller });
              }
              case 'read':
                return repository.read(type, id);
              case 'search':
                return repository.search(type);
            }
          };
          const answer = await request().catch((error: unknown) => maskError(error).outcome);
          if (!alone) expect(JSON.stringify(answer ?? null)).not.toContain('HIDDEN');
        }
        written += store.commits;
        expect(store.unseen).toBe(0);
      },
    ),
    { numRuns: cases(400, 120), seed: SEED },
  );
  expect(written).toBeGreaterThan(10);
});

/** The store, with a moment for another writer before each call; commits that went through are counted. */
function between(
  store: ResourceStore,
  moment: (method: string, given: string) => Promise<'seen' | 'unseen'>,
): ResourceStore & { commits: number; unseen: number } {
  const counts = { commits: 0, unseen: 0 };
  return new Proxy(store as ResourceStore & typeof counts, {
    get(target, name) {
      if (name === 'commits' || name === 'unseen') return counts[name];
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return async (...given: unknown[]): Promise<unknown> => {
        const sight = await moment(String(name), JSON.stringify(given[0] ?? null));
        const result: unknown = await Reflect.apply(member, target, given);
        if (name === 'commit') counts[sight === 'unseen' ? 'unseen' : 'commits'] += 1;
        return result;
      };
    },
  });
}
