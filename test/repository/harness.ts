import type { AccessPolicy, Resource } from '@medplum/fhirtypes';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe } from 'vitest';
import {
  type Caller,
  createRepository,
  FhirError,
  type MemberCaller,
  MemoryStore,
  type Repository,
  type RepositoryContext,
  type ResourceStore,
  serverCaller,
  signIn,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { emptySqliteFile } from '../support/empty-sqlite-file.js';
import { namedStores } from '../support/named-stores.js';

interface OpenOptions {
  readonly clock?: () => Date;
  readonly baseUrl?: string;
}

/** The same tests over each store; SQLite as a real file. */
export function overStores(name: string, tests: (open: (options?: OpenOptions) => ResourceStore) => void): void {
  const opened: ResourceStore[] = [];
  const folders: string[] = [];
  const keep = (store: ResourceStore): ResourceStore => {
    opened.push(store);
    return store;
  };
  const open: readonly (readonly [string, (options?: { clock?: () => Date }) => ResourceStore])[] = [
    ['memory', (options) => keep(new MemoryStore(options))],
    [
      'SQLite',
      (options) => {
        const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-repository-'));
        folders.push(folder);
        return keep(new SqliteStore(emptySqliteFile(join(folder, 'clinic.db')), { ...options, synchronous: 'off' }));
      },
    ],
  ];
  describe.each(namedStores(open))(`${name} over %s`, (_, openStore) => {
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
    });
    tests(openStore);
  });
}

/** The repository of trusted code in a project, which is created if necessary. */
export async function system(
  store: ResourceStore,
  project = 'clinic',
  more: Partial<RepositoryContext> & { strictMode?: boolean } = {},
): Promise<Repository> {
  const { strictMode = false, ...context } = more;
  const caller = serverCaller(project);
  await createRepository({ store, caller }).update({ resourceType: 'Project', id: project, name: project, strictMode });
  return createRepository({ store, caller, ...context });
}

type PolicyRule = NonNullable<AccessPolicy['resource']>[number];

/** The membership of a person in a project. */
export interface Membership {
  readonly project?: string;
  /** Rules of the only policy; without rules, the membership has no policy. */
  readonly rules?: readonly PolicyRule[];
  readonly parameters?: readonly { name: string; valueString?: string; valueReference?: { reference: string } }[];
  readonly admin?: boolean;
  /** The profile, created if it does not exist. */
  readonly profile?: Extract<
    Resource,
    { resourceType: 'Patient' | 'Practitioner' | 'RelatedPerson' | 'ClientApplication' }
  >;
}

let members = 0;

/** Signs in a new member of a project, with a User of its own. */
export async function signedIn(store: ResourceStore, membership: Membership = {}): Promise<MemberCaller> {
  members += 1;
  const { project = 'clinic', rules, parameters, admin } = membership;
  const trusted = createRepository({ store, caller: serverCaller(project) });
  const profile = membership.profile ?? { resourceType: 'Practitioner', id: `practitioner-${members}` };
  await trusted.update(profile);
  const user = `user-${members}`;
  await trusted.update({
    resourceType: 'User',
    id: user,
    firstName: 'First',
    lastName: 'Last',
    email: `${user}@x.org`,
  });
  const id = `member-${members}`;
  const policy = { reference: `AccessPolicy/policy-${members}` };
  if (rules !== undefined) {
    await trusted.update({ resourceType: 'AccessPolicy', id: `policy-${members}`, resource: [...rules] });
  }
  await trusted.update({
    resourceType: 'ProjectMembership',
    id,
    project: { reference: `Project/${project}` },
    user: { reference: `User/${user}` },
    profile: { reference: `${profile.resourceType}/${profile.id!}` },
    ...(admin === undefined ? {} : { admin }),
    ...(rules === undefined ? {} : { access: [{ policy, parameter: [...(parameters ?? [])] }] }),
  });
  return signIn(store, { membership: id });
}

/** The repository of a new member. */
export async function member(store: ResourceStore, membership: Membership = {}): Promise<Repository> {
  return repositoryOf(store, await signedIn(store, membership));
}

export function repositoryOf(store: ResourceStore, caller: Caller, more: Partial<RepositoryContext> = {}): Repository {
  return createRepository({ store, caller, ...more });
}

/** The error that a call must reject with. */
export async function faultOf(call: Promise<unknown>): Promise<FhirError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof FhirError) return outcome;
  throw new Error('Expected a FhirError', { cause: outcome });
}

export async function codeOf(call: Promise<unknown>): Promise<string> {
  return (await faultOf(call)).code;
}
