import { describe, expect, test, vi } from 'vitest';
import { type AnyResource, type Caller, FhirError, MemoryStore, systemCaller } from '../../src/index.js';
import type { GuardedResult, GuardedWrite } from '../../src/access/contract.js';
import type { CommitOptions } from '../../src/store/call-options.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { forgetFhirPath } from '../../src/fhirpath/library.js';
import { codeOf, faultOf, signedIn, system } from '../repository/harness.js';
import { put } from './decisions.js';

const clinic = systemCaller('clinic');
const PATIENT = put({ resourceType: 'Patient', id: 'p' });

let constraints = 0;

/** A policy with a write constraint that was not looked at before. */
function constrainedPolicy(): GuardedWrite {
  constraints += 1;
  const rule = { resourceType: 'Patient', writeConstraint: [{ expression: `%after.active or ${constraints} = 0` }] };
  return put({ resourceType: 'AccessPolicy', id: 'x', resource: [rule] } as AnyResource);
}

async function world(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await system(store);
  return store;
}

function commit(
  store: MemoryStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  options?: CommitOptions,
): Promise<readonly GuardedResult[]> {
  return guardStore(store, caller).commit(writes, options);
}

describe('a commit', () => {
  test('of a policy with a write constraint loads FHIRPath', async () => {
    const store = await world();
    const administrator = await signedIn(store, { admin: true });
    for (const caller of [clinic, administrator]) {
      forgetFhirPath();
      expect(await commit(store, caller, [PATIENT, constrainedPolicy()])).toHaveLength(2);
    }
  });

  test('that is aborted during its decision is not sent to the store', async () => {
    const store = await world();
    const abort = new AbortController();
    const read = store.read.bind(store);
    vi.spyOn(store, 'read').mockImplementation(async (...args) => {
      const found = await read(...args);
      abort.abort();
      return found;
    });
    const sent = vi.spyOn(store, 'commit').mockResolvedValue([]);
    const onCommit = vi.fn();
    expect(await codeOf(commit(store, clinic, [PATIENT], { signal: abort.signal, onCommit }))).toBe('aborted');
    expect(onCommit).not.toHaveBeenCalled();
    expect(sent).not.toHaveBeenCalled();
  });

  test('reports when it is sent, each time', async () => {
    const store = await world();
    const overtaken = new FhirError('precondition-failed', 'Another version', { details: { index: 0 } });
    vi.spyOn(store, 'commit').mockRejectedValueOnce(overtaken);
    const onCommit = vi.fn();
    await commit(store, clinic, [PATIENT], { onCommit });
    expect(onCommit).toHaveBeenCalledTimes(2);
  });

  test('is tried once if the caller demands a version, and five times otherwise', async () => {
    const store = await world();
    const overtaken = new FhirError('precondition-failed', 'Another version', { details: { index: 0 } });
    const sent = vi.spyOn(store, 'commit').mockRejectedValue(overtaken);
    for (const [write, times] of [
      [{ ...PATIENT, expect: { version: '1' } } as GuardedWrite, 1],
      [PATIENT, 5],
    ] as const) {
      sent.mockClear();
      expect(await faultOf(commit(store, clinic, [write]))).toMatchObject({
        code: 'precondition-failed',
        details: { index: 0 },
      });
      expect(sent).toHaveBeenCalledTimes(times);
    }
  });

  test('passes on an error of the store that is not about a write', async () => {
    const store = await world();
    const error = new Error('disk full');
    const sent = vi.spyOn(store, 'commit').mockRejectedValue(error);
    await expect(commit(store, clinic, [PATIENT])).rejects.toBe(error);
    expect(sent).toHaveBeenCalledTimes(1);
  });

  test('passes on any error of the store during its decision', async () => {
    const store = await world();
    const rules = [{ resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender=female' }];
    const caller = await signedIn(store, { rules });
    const observation = put({ resourceType: 'Observation', id: 'o', subject: { reference: 'Patient/p' } } as AnyResource); // prettier-ignore
    const write: GuardedWrite = { ...observation, generatedId: true } as GuardedWrite;
    for (const error of [new Error('disk full'), new FhirError('unavailable', 'Busy')]) {
      // Nothing is stored under a generated id: the first search is for the resource as it is to be written.
      vi.spyOn(store, 'search').mockRejectedValueOnce(error);
      const thrown: unknown = await commit(store, caller, [write]).catch((one: unknown) => one);
      if (error instanceof FhirError) expect(thrown).toMatchObject({ code: 'unavailable', details: { index: 0 } });
      else expect(thrown).toBe(error);
    }
  });

  test('under a generated id reads nothing, and overwrites nothing even if the id is taken', async () => {
    const store = await world();
    const caller = await signedIn(store, {});
    const [read, search] = [vi.spyOn(store, 'read'), vi.spyOn(store, 'search')];
    const generated = { ...put({ resourceType: 'Observation', id: 'o' }), generatedId: true } as GuardedWrite;
    const written = await commit(store, caller, [generated]);
    expect(written).toMatchObject([{ kind: 'put', created: true }]);
    // The project says how strictly resources are checked.
    expect(read.mock.calls.flatMap(([keys]) => keys)).toEqual([{ project: '', type: 'Project', id: 'clinic' }]);
    expect(search).not.toHaveBeenCalled();
    expect(await faultOf(commit(store, caller, [generated]))).toMatchObject({ code: 'precondition-failed' });
    const [stored] = await store.read([{ project: 'clinic', type: 'Observation', id: 'o' }]);
    expect(stored).toMatchObject({ status: 'found', versionId: '1' });
  });

  test('by a demoted administrator writes nothing, at any position of the policy', async () => {
    const store = await world();
    const caller = await signedIn(store, { admin: true });
    const trusted = await system(store);
    await trusted.update({ ...(await trusted.read('ProjectMembership', caller.membership)), admin: false });
    const policy = put({ resourceType: 'AccessPolicy', id: 'x' });
    const deletion: GuardedWrite = { kind: 'delete', key: { type: 'AccessPolicy', id: 'x' } };
    for (const writes of [
      [policy, PATIENT],
      [PATIENT, policy],
    ]) {
      expect(await codeOf(commit(store, caller, writes))).toBe('forbidden');
    }
    await trusted.update({ resourceType: 'AccessPolicy', id: 'x' });
    expect(await codeOf(commit(store, caller, [deletion]))).toBe('forbidden');
    expect(await commit(store, caller, [PATIENT])).toHaveLength(1);
  });
});

describe('the answer to a write', () => {
  const containedIn = ([answer]: readonly GuardedResult[]): unknown =>
    answer?.kind === 'put' ? (answer.resource as { readonly contained?: unknown }).contained : undefined;
  const inner = { resourceType: 'Practitioner', id: 'inner', birthDate: '2001-01-01', gender: 'male' };
  const client = { resourceType: 'ClientApplication', id: 'app', secret: 's3cret' };
  const list = put({ resourceType: 'List', id: 'l', contained: [inner, client] } as unknown as AnyResource);

  test('hides in contained resources the fields that the rules for their type hide', async () => {
    const store = await world();
    const rules = [{ resourceType: 'List' }, { resourceType: 'Practitioner', hiddenFields: ['birthDate'] }];
    const caller = await signedIn(store, { rules });
    const app = { resourceType: 'ClientApplication', id: 'app' };
    const { birthDate: _hidden, ...shown } = inner;
    expect(containedIn(await commit(store, clinic, [list]))).toEqual([inner, app]);
    const again = put({ resourceType: 'List', id: 'l', contained: [shown, app] } as unknown as AnyResource);
    expect(containedIn(await commit(store, caller, [again]))).toEqual([shown, app]);
    expect(containedIn(await commit(store, clinic, [list]))).toEqual([inner, app]);
  });

  test('says that the writer cannot read the resource only in that case', async () => {
    const store = await world();
    const create: GuardedWrite = { ...PATIENT, generatedId: true } as GuardedWrite;
    const blind = await signedIn(store, { rules: [{ resourceType: 'Patient', interaction: ['create'] }] });
    expect((await commit(store, blind, [create]))[0]).toHaveProperty('unreadable', true);
    const seeing = await signedIn(store);
    expect((await commit(store, seeing, [PATIENT]))[0]).not.toHaveProperty('unreadable');
    expect((await commit(store, clinic, [PATIENT]))[0]).not.toHaveProperty('unreadable');
  });
});
