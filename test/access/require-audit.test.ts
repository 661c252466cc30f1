import { expect, test, vi } from 'vitest';
import { audited } from '../../src/access/operation.js';
import {
  createFhirGraphql,
  createRepository,
  executeFhirGraphql,
  FhirError,
  MemoryStore,
  systemCaller,
} from '../../src/index.js';
import { system } from '../repository/harness.js';
import { until } from '../support/until.js';

const caller = systemCaller('clinic');

/** A hook that accepts no record: one that throws, and one that rejects. */
const FAILING: readonly (() => void | Promise<void>)[] = [
  () => {
    throw new Error('The trail is full');
  },
  () => Promise.reject(new Error('The trail is full')),
];

async function clinic(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await (await system(store)).update({ resourceType: 'Patient', id: 'ann', gender: 'female' });
  return store;
}

async function failure(work: Promise<unknown>): Promise<Pick<FhirError, 'code' | 'details'>> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof FhirError)) throw new Error('No FhirError', { cause: error });
  return { code: error.code, details: error.details };
}

test.each(FAILING)('a read answers nothing if its required record is refused', async (audit) => {
  const store = await clinic();
  const repository = createRepository({ store, caller, audit, requireAudit: true });
  expect(await failure(repository.read('Patient', 'ann'))).toEqual({ code: 'unavailable', details: { audit: true } });
  expect(await failure(repository.read('Patient', 'bob'))).toEqual({ code: 'unavailable', details: { audit: true } });
  const result = await executeFhirGraphql('{ PatientList { id } }', { store, caller, audit, requireAudit: true });
  expect(result.data).toBeUndefined();
  expect(result.errors?.map(({ extensions }) => [extensions.code, extensions.details])).toEqual([
    ['unavailable', { audit: true }],
  ]);
});

test('a write with a refused required record reports that it was committed', async () => {
  const store = await clinic();
  const [audit] = FAILING;
  const repository = createRepository({ store, caller, audit, requireAudit: true });
  expect(await failure(repository.delete('Patient', 'ann'))).toEqual({
    code: 'unavailable',
    details: { audit: true, written: true },
  });
  expect((await failure(createRepository({ store, caller }).read('Patient', 'ann'))).code).toBe('gone');
  const mutation = 'mutation { PatientCreate(res: { resourceType: "Patient" }) { id } }';
  const result = await executeFhirGraphql(mutation, { store, caller, audit, requireAudit: true });
  expect(result.errors?.[0]?.extensions.details).toEqual({ audit: true, written: true });
});

test('a record that is not required never fails the request', async () => {
  const store = await clinic();
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  try {
    for (const audit of FAILING) {
      expect(await createRepository({ store, caller, audit }).read('Patient', 'ann')).toMatchObject({ id: 'ann' });
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(warned).toHaveBeenCalledTimes(2);
  } finally {
    warned.mockRestore();
  }
});

test('an answer waits until its required record is accepted', async () => {
  const store = await clinic();
  const taken = Promise.withResolvers<unknown>();
  const audit = vi.fn(async () => void (await taken.promise));
  let answered = false;
  const answer = createRepository({ store, caller, audit, requireAudit: true })
    .read('Patient', 'ann')
    .then(() => (answered = true));
  await until(() => audit.mock.calls.length > 0);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(answered).toBe(false);
  taken.resolve(undefined);
  expect(await answer).toBe(true);
});

test('an interaction begins once the hook is ready', async () => {
  const steps: string[] = [];
  const audit = Object.assign(() => void steps.push('record'), {
    ready: () => Promise.resolve().then(() => void steps.push('ready')),
  });
  await audited({ store: new MemoryStore(), caller, audit }, 'read', () => Promise.resolve(steps.push('work')));
  expect(steps).toEqual(['ready', 'work', 'record']);
});

test('requireAudit without a hook is refused', async () => {
  const store = await clinic();
  const refused = { code: 'invalid', details: undefined };
  const repository = createRepository({ store, caller, requireAudit: true });
  expect(await failure(repository.read('Patient', 'ann'))).toEqual(refused);
  expect(() => createFhirGraphql({ store, requireAudit: true })).toThrow('requireAudit needs audit');
});

test('records contain the purpose and the id of the request, cut to a length', async () => {
  const store = await clinic();
  const audit = vi.fn<(record: object) => void>();
  const context = { store, caller, audit, purpose: 'TREAT', requestId: 'r'.repeat(500) };
  await executeFhirGraphql('{ PatientList { id } }', context);
  expect(audit.mock.calls[0]?.[0]).toMatchObject({ purpose: 'TREAT', requestId: 'r'.repeat(200) });
  await createFhirGraphql({ store, audit }).execute('{ PatientList { id } }', {
    caller,
    purpose: 'TREAT',
    requestId: 'r1',
  });
  expect(audit.mock.calls[1]?.[0]).toMatchObject({ purpose: 'TREAT', requestId: 'r1' });
});
