import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Practitioner } from '@medplum/fhirtypes';
import { expect } from 'vitest';
import {
  createRepository,
  FhirError,
  type MemberCaller,
  type ResourceStore,
  serverCaller,
  signIn,
} from '../../src/index.js';
import { LOADER } from './load-typescript.js';
import { storeWith } from './store-with.js';

const SCRIPT = fileURLToPath(new URL('end-access.ts', import.meta.url));

/** The changes by another process, and the error code of a caller in this process. */
export const ENDS = [
  ['deactivate', 'membership-inactive'],
  ['remove', 'membership-missing'],
  ['revoke', 'session-ended'],
  ['policy', 'session-ended'],
] as const;

/** A member of a clinic under a policy. */
export async function memberOf(store: ResourceStore, name: string): Promise<string> {
  const trusted = createRepository({ store, caller: serverCaller('clinic') });
  await trusted.update({ resourceType: 'Project', id: 'clinic', name: 'Clinic' });
  await trusted.update({ resourceType: 'User', id: name, firstName: name, lastName: 'Lee' });
  await trusted.update<Practitioner>({ resourceType: 'Practitioner', id: name });
  await trusted.update({ resourceType: 'AccessPolicy', id: 'staff', resource: [{ resourceType: 'Patient' }] });
  await trusted.update({
    resourceType: 'ProjectMembership',
    id: name,
    project: { reference: 'Project/clinic' },
    user: { reference: `User/${name}` },
    profile: { reference: `Practitioner/${name}` },
    accessPolicy: { reference: 'AccessPolicy/staff' },
  });
  return name;
}

/** Another process with the same database. */
export interface OtherProcess {
  /** Resolves when the change is committed. */
  change(change: string, membership: string): Promise<void>;
  end(): Promise<void>;
}

/** @param place the SQLite file, or the configuration of a pool as JSON */
export function startOther(place: string): OtherProcess {
  const child = spawn(process.execPath, ['--import', LOADER, SCRIPT, place, 'clinic'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async change(change, membership) {
      child.stdin.write(`${change} ${membership}\n`);
      expect((await answers.next()).value).toBe('done');
    },
    async end() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}

/**
 * A caller of this process is in use while another process ends its access. It works until the next check, and
 * then ends. The test controls the clock.
 */
export async function assertEndsByOtherProcess(
  store: ResourceStore,
  other: OtherProcess,
  change: string,
  code: string,
): Promise<void> {
  let now = Date.parse('2030-01-01T00:00:00.000Z');
  // The other process uses the system's clock for the revocation.
  const issuedAt = new Date('2001-01-01T00:00:00.000Z');
  const membership = await memberOf(store, `${change}d`);
  const reads: string[] = [];
  const counted = storeWith(store, {
    accessEpoch: (options) => store.accessEpoch!(options),
    read(keys, options) {
      reads.push(...keys.map(({ type }) => type));
      return store.read(keys, options);
    },
  });
  const caller: MemberCaller = await signIn(counted, { membership }, { clock: () => new Date(now), issuedAt });
  const repository = createRepository({ store: counted, caller });
  const pass = (milliseconds: number): void => void (now += milliseconds);
  const outcome = (): Promise<string> =>
    repository.search('Patient', 'gender=male').then(
      () => 'works',
      (error: unknown) => (error instanceof FhirError ? error.code : String(error)),
    );
  // The first two calls read everything that decides; after that, nothing has changed.
  for (let time = 0; time < 2; time += 1) {
    pass(5_000);
    expect(await outcome()).toBe('works');
  }
  reads.length = 0;
  pass(5_000);
  expect([await outcome(), reads]).toEqual(['works', []]);
  await other.change(change, membership);
  pass(4_999);
  expect([await outcome(), reads]).toEqual(['works', []]);
  pass(1);
  expect(await outcome()).toBe(code);
  expect(reads).toContain('ProjectMembership');
  reads.length = 0;
  pass(-5_000);
  expect([await outcome(), reads]).toEqual([code, []]);
}
