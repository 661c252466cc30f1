import type { Patient, Resource } from '@medplum/fhirtypes';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  acceptInvitation,
  createProject,
  createRepository,
  ERROR_CODES,
  type ErrorCode,
  executeFhirGraphql,
  FhirError,
  initialize,
  invite,
  MemoryStore,
  type Repository,
  removeMember,
  type ResourceStore,
  revokeSessions,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { SERVER_SCOPE } from '../../src/store.js';
import { readPage } from '../support/pages.js';

/** A project with one member, Ann. */
interface Clinic {
  readonly store: ResourceStore;
  readonly project: string;
  readonly user: string;
  readonly membership: string;
  readonly profile: string;
  /** Trusted code in the project. */
  readonly repository: Repository;
  readonly caller: ReturnType<typeof systemCaller>;
}

const documented = new Map(
  [...readPage('errors').matchAll(/^\| `([a-z-]+)` \| (\d+) \| (\S+) \|/gm)].map(([, code, status, issue]) => [
    code,
    { status: Number(status), issue },
  ]),
);

/** For each code something that leads to it. */
const PROVOCATIONS: { readonly [Code in ErrorCode]: (clinic: Clinic) => Promise<unknown> } = {
  invalid: ({ repository }) => repository.search('Patient', 'birthdate=yesterday'),
  unsupported: ({ repository }) => repository.search('Observation', 'code:in=http://example.org/ValueSet/x'),
  unauthenticated: ({ store }) => fromGraphql('{ PatientList { id } }', { store, caller: undefined as never }),
  forbidden: async (clinic) => {
    const ann = await signIn(clinic.store, { membership: clinic.membership });
    return createRepository({ ...clinic, caller: ann }).create({ resourceType: 'AccessPolicy' });
  },
  'membership-ambiguous': async (clinic) => {
    await invite(clinic.project, { ...ANN, forceNewMembership: true }, clinic);
    return signInAnn(clinic);
  },
  'membership-missing': async (clinic) => {
    await removeMember(clinic.membership, clinic);
    return signInAnn(clinic);
  },
  'membership-inactive': async (clinic) => {
    await updateMember(clinic.membership, { active: false }, clinic);
    return signInAnn(clinic);
  },
  'invitation-invalid': ({ store }) =>
    acceptInvitation('unknown', { externalId: 'a', email: 'ann@example.org', emailVerified: true }, { store }),
  'membership-expired': async (clinic) => {
    await updateMember(clinic.membership, { expires: '2001-01-01T00:00:00Z' }, clinic);
    return signInAnn(clinic);
  },
  'session-ended': async ({ store, user, project, ...clinic }) => {
    const issuedAt = new Date();
    await revokeSessions({ membership: clinic.membership }, { store, caller: clinic.caller });
    return signIn(store, { project, user }, { issuedAt });
  },
  'profile-missing': async (clinic) => {
    await erase(clinic, clinic.profile);
    return signInAnn(clinic);
  },
  'user-missing': async (clinic) => {
    await erase(clinic, clinic.user);
    return signInAnn(clinic);
  },
  'project-missing': ({ store, user }) => signIn(store, { project: 'Project/nowhere', user }),
  'policy-missing': async (clinic) => {
    const policy = await givePolicy(clinic, { resource: [{ resourceType: 'Patient' }] });
    await erase(clinic, policy);
    return signInAnn(clinic);
  },
  'policy-invalid': async (clinic) => {
    const policy = await givePolicy(clinic, { resource: [{ resourceType: 'Patient' }] });
    // A repository refuses such a policy; a store that was filled by other means can have it.
    await rewrite(clinic, policy, { resource: [{ resourceType: 'Patient', criteria: 'Patient?no-such=1' }] });
    return signInAnn(clinic);
  },
  'policy-required': ({ store, membership }) => signIn(store, { membership }, { requirePolicy: true }),
  'not-found': ({ repository }) => repository.read('Patient', 'nobody'),
  gone: async ({ repository }) => {
    const { id } = await repository.create<Patient>({ resourceType: 'Patient' });
    await repository.delete('Patient', id);
    return repository.read('Patient', id);
  },
  conflict: ({ repository, profile }) => repository.delete('Practitioner', profile.split('/')[1]!),
  'precondition-failed': async ({ repository }) => {
    const patient = await repository.create<Patient>({ resourceType: 'Patient' });
    return repository.update(patient, { ifMatch: '7' });
  },
  unprocessable: ({ repository }) => repository.create({ resourceType: 'Patient', birthdate: '2020' } as Resource),
  throttled: async (clinic) => {
    const read = () =>
      createRepository({ ...clinic, limits: { concurrency: { total: 1, queue: 1 } } }).search('Patient');
    const [first, ...others] = await Promise.allSettled([read(), read(), read()]);
    expect([first, ...others].map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    throw (others.at(-1) as PromiseRejectedResult).reason;
  },
  'too-costly': (clinic) => fromGraphql('{ PatientList { id } }', { ...clinic, limits: { depth: 1 } }),
  reset: ({ repository }) => repository.subscribe('Patient', {}, { after: 'of another database' }).next(),
  aborted: (clinic) => fromGraphql('{ PatientList { id } }', { ...clinic, signal: AbortSignal.abort() }),
  unavailable: async ({ store, repository }) => {
    await store.close();
    return repository.read('Patient', '1');
  },
  corrupt: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-'));
    try {
      writeFileSync(join(folder, 'clinic.db'), 'This is not a database. '.repeat(100));
      return await new SqliteStore(join(folder, 'clinic.db')).close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  internal: ({ store, caller }) => {
    const broken = new Proxy(store, {
      get: (target, name) =>
        name === 'read'
          ? () => Promise.reject(new Error('a fault with a secret in it'))
          : Reflect.get(target, name, target),
    });
    return fromGraphql('{ Patient(id: 1) { id } }', { store: broken, caller });
  },
};

const ANN = {
  resourceType: 'Practitioner',
  firstName: 'Ann',
  lastName: 'Hill',
  email: 'ann@example.org',
  sendEmail: false,
} as const;

test('errors.md lists every code with its status and issue', () => {
  expect(Object.fromEntries(documented)).toEqual(ERROR_CODES);
});

describe('errors.md: every code can be met', () => {
  test.each(Object.entries(PROVOCATIONS))('%s', async (code, provoke) => {
    const error = await provoke(await openClinic()).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof FhirError)) throw new Error(`${code}: no FhirError`, { cause: error });
    expect(error).toMatchObject({ code, status: documented.get(code)!.status });
    expect(error.outcome.issue.length).toBeGreaterThan(0);
    expect(JSON.stringify([error, error.outcome])).not.toContain('secret');
  });
});

async function openClinic(): Promise<Clinic> {
  const store = new MemoryStore();
  const operations = await initialize(store, { name: 'Operations' });
  const above = { store, caller: operations.caller };
  const project = (await createProject({ resourceType: 'Project', name: 'Clinic', strictMode: true }, above)).id;
  const { user, membership, profile } = await invite(project, ANN, above);
  const caller = systemCaller(project);
  return {
    store,
    project,
    user: `User/${user.id}`,
    membership: membership.id,
    profile: `Practitioner/${profile.id}`,
    caller,
    repository: createRepository({ store, caller }),
  };
}

function signInAnn({ store, project, user }: Clinic): Promise<unknown> {
  return signIn(store, { project, user });
}

/** The first error of an answer, thrown as the repository would. */
async function fromGraphql(query: string, context: Parameters<typeof executeFhirGraphql>[1]): Promise<void> {
  const { errors = [] } = await executeFhirGraphql(query, context);
  for (const { message, extensions } of errors) throw new FhirError(extensions.code as ErrorCode, message);
}

async function givePolicy({ repository, membership, ...context }: Clinic, policy: object): Promise<string> {
  const { id } = await repository.create({ resourceType: 'AccessPolicy', ...policy });
  await updateMember(membership, { accessPolicy: { reference: `AccessPolicy/${id}` } }, context);
  return `AccessPolicy/${id}`;
}

/** Past everything that guards a store. */
async function erase({ store, project }: Clinic, reference: string): Promise<void> {
  await store.commit([{ kind: 'delete', key: keyOf(project, reference) }]);
}

async function rewrite({ store, project }: Clinic, reference: string, elements: object): Promise<void> {
  const key = keyOf(project, reference);
  await store.commit([{ kind: 'put', key, resource: { resourceType: key.type, id: key.id, ...elements } }]);
}

function keyOf(project: string, reference: string): { project: string; type: string; id: string } {
  const [type, id] = reference.split('/') as [string, string];
  return { project: type === 'User' ? SERVER_SCOPE : project, type, id };
}
