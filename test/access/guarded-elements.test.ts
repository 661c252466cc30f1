import { expect, test } from 'vitest';
import { guardStore } from '../../src/access/guarded-store.js';
import { createRepository, MemoryStore } from '../../src/index.js';
import { enrol, type RuleJson } from './policies.js';
import { fill, plain, type Json } from './world.js';

const code = { text: 'weight' };

async function setUp(rules: readonly RuleJson[], content: readonly Json[]) {
  const store = new MemoryStore();
  await fill(store, 'alpha', [{ resourceType: 'Practitioner', id: 'dr1' }, ...content].map(plain));
  const project = plain({ resourceType: 'Project', id: 'alpha', name: 'alpha', strictMode: true });
  await store.commit([{ kind: 'put', key: { project: '', type: 'Project', id: 'alpha' }, resource: project }]);
  const access = [{ policy: 0, parameters: [{ name: 'x', valueString: 'x' }] }];
  const caller = await enrol(store, 'alpha', { profile: 'Practitioner/dr1', policies: [{ resource: rules }], access });
  const repository = createRepository({ store, caller });
  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'written',
      (error: unknown) => (error as { code: string }).code,
    );
  const storedAt = async (type: string, id: string): Promise<Json> => {
    const [found] = await store.read([{ project: 'alpha', type, id }]);
    return (found as unknown as { resource: Json }).resource;
  };
  return { store, caller, repository, codeOf, storedAt };
}

test('one form of a choice guards all forms', async () => {
  const { repository, codeOf, storedAt } = await setUp(
    [{ resourceType: 'Observation', hiddenFields: ['valueQuantity'] }],
    [
      { resourceType: 'Observation', id: 'with', status: 'final', code, valueQuantity: { value: 3 } },
      { resourceType: 'Observation', id: 'without', status: 'final', code },
    ],
  );
  for (const id of ['with', 'without']) {
    const seen = { resourceType: 'Observation', id, status: 'final', code } as const;
    expect(await codeOf(repository.update({ ...seen, valueString: 'x' }))).toBe('forbidden');
    expect(await codeOf(repository.update({ ...seen, status: 'amended' }))).toBe('written');
  }
  expect(await storedAt('Observation', 'with')).toMatchObject({ status: 'amended', valueQuantity: { value: 3 } });
});

test('strict validation judges the sent elements, not the hidden elements', async () => {
  const { repository, codeOf, storedAt } = await setUp(
    [{ resourceType: 'Observation', hiddenFields: ['code', 'contained'] }],
    [
      {
        resourceType: 'Observation',
        id: 'valid',
        status: 'final',
        code,
        contained: [{ resourceType: 'Patient', id: 'c' }],
      },
      { resourceType: 'Observation', id: 'broken', status: 'final', code: 'no concept' },
      { resourceType: 'Observation', id: 'missing', status: 'final' },
    ],
  );
  const subject = { reference: '#c' };
  for (const id of ['valid', 'broken', 'missing']) {
    const sent = { resourceType: 'Observation', id, status: 'final' };
    expect(await codeOf(repository.update({ ...sent, subject } as never))).toBe('written');
    expect(await codeOf(repository.update({ ...sent, status: 'unheard-of' } as never))).toBe('unprocessable');
  }
  expect(await storedAt('Observation', 'valid')).toMatchObject({ code, subject, contained: [{ id: 'c' }] });
  expect(await codeOf(repository.create({ resourceType: 'Observation', status: 'final' } as never))).toBe(
    'unprocessable',
  );
});

test('a rule guards elements that another rule shows, and a writer that cannot read learns nothing by repeating a value', async () => {
  const name = [{ family: 'A', given: ['B'] }];
  const { caller, store, repository, codeOf, storedAt } = await setUp(
    [
      { resourceType: 'Patient', criteria: 'Patient?gender=male', readonly: true, hiddenFields: ['birthDate'] },
      { resourceType: 'Patient', criteria: 'Patient?gender=female' },
      {
        resourceType: 'Observation',
        interaction: ['update'],
        hiddenFields: ['component.code'],
        readonlyFields: ['status'],
      },
    ],
    [
      { resourceType: 'Patient', id: 'p', gender: 'female', birthDate: '1970-01-01', name },
      { resourceType: 'Observation', id: 'o', status: 'final', code, component: [{ code, valueString: 'x' }] },
    ],
  );
  const seen = await repository.read('Patient', 'p');
  expect(seen).toMatchObject({ birthDate: '1970-01-01' });
  expect(await codeOf(repository.update({ ...seen, birthDate: '1980-01-01' }))).toBe('forbidden');
  expect(await codeOf(repository.update({ ...seen, name: [{ family: 'Z' }] }))).toBe('written');
  const blind = (more: Json): Promise<string> => {
    const resource = plain({ resourceType: 'Observation', id: 'o', code, ...more });
    return codeOf(guardStore(store, caller).commit([{ kind: 'put', key: { type: 'Observation', id: 'o' }, resource }]));
  };
  expect(await blind({ component: [{ valueString: 'x' }] })).toBe('forbidden');
  expect(await blind({ component: [{ valueString: 'y' }] })).toBe('forbidden');
  expect(await blind({ status: 'final' })).toBe('forbidden');
  expect(await blind({ language: 'en' })).toBe('written');
  expect(await storedAt('Observation', 'o')).toMatchObject({ status: 'final', language: 'en', component: [{ code, valueString: 'x' }] }); // prettier-ignore
});

test('meta is compared without the elements that a server sets', async () => {
  const tag = [{ code: 't' }];
  const { repository, codeOf, storedAt } = await setUp(
    [{ resourceType: 'Patient', hiddenFields: ['meta.tag'] }],
    [{ resourceType: 'Patient', id: 'p', meta: { tag } }],
  );
  expect(await codeOf(repository.update({ resourceType: 'Patient', id: 'p', active: true }))).toBe('written');
  expect(await codeOf(repository.update({ ...(await repository.read('Patient', 'p')), active: false }))).toBe(
    'written',
  );
  expect(await codeOf(repository.update({ resourceType: 'Patient', id: 'p', meta: { tag } }))).toBe('forbidden');
  expect(await storedAt('Patient', 'p')).toMatchObject({ active: false, meta: { tag } });
});

test('hidden elements of a type cannot be set inside other resources', async () => {
  const { repository, codeOf } = await setUp(
    [{ resourceType: 'Observation' }, { resourceType: 'Patient', hiddenFields: ['birthDate'] }],
    [],
  );
  const inner = { resourceType: 'Patient', id: 'c' } as const;
  const sent = { resourceType: 'Observation', status: 'final', code, subject: { reference: '#c' } } as const;
  expect(await codeOf(repository.create({ ...sent, contained: [{ ...inner, birthDate: '2000' }] } as never))).toBe(
    'forbidden',
  );
  expect(await codeOf(repository.create({ ...sent, contained: [{ ...inner, active: true }] } as never))).toBe(
    'written',
  );
});
