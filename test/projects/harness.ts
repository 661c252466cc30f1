import {
  type AnyResource,
  type Caller,
  createProject,
  FhirError,
  initialize,
  type Invitation,
  invite,
  type InviteBody,
  type InviteDryRun,
  type InviteResult,
  type Mailer,
  MemoryStore,
  type MemoryStoreOptions,
  type ResourceStore,
  serverCaller,
  signIn,
} from '../../src/index.js';
import { R4, SERVER_SCOPE, type Write } from '../../src/store.js';
import type { AccessPolicy, Organization, Patient, Project } from '@medplum/fhirtypes';
import { guardStore } from '../../src/access/guarded-store.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { SqliteStore } from '../../src/sqlite.js';
import { storeWith } from '../support/store-with.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { onceTestEnds } from '../support/after-tests.js';
import { namedStores } from '../support/named-stores.js';

const fileNamed = temporaryFolder();
let files = 0;

/** Both stores of the package; SQLite with a real file. */
export const stores = namedStores<readonly [name: string, make: () => ResourceStore]>([
  ['memory', () => track(new MemoryStore())],
  ['SQLite', () => track(new SqliteStore(fileNamed(`${(files += 1)}.db`), { synchronous: 'off' }))],
]);

export function memoryStore(options?: MemoryStoreOptions): ResourceStore {
  return track(new MemoryStore(options));
}

function track(store: ResourceStore): ResourceStore {
  onceTestEnds(() => store.close());
  return store;
}

/** A clinic with its first administrator, and a caller who can set up more. */
export interface Clinic {
  readonly store: ResourceStore;
  readonly project: string;
  readonly superAdmin: Caller;
  readonly admin: Caller;
  readonly first: InviteResult;
}

export async function openClinic(
  store: ResourceStore = memoryStore(),
  settings: Partial<Project> = {},
): Promise<Clinic> {
  const superAdmin = await initialized(store);
  const { id } = await createProject(
    { resourceType: 'Project', strictMode: true, ...settings, name: 'Clinic' },
    { store, caller: superAdmin },
  );
  const first = await invite(id, person('Practitioner', 'Ada', { admin: true }), { store, caller: superAdmin });
  // A check of the caller would add a store call. It comes after five seconds, which a busy machine can take.
  const admin = await signIn(store, { membership: first.membership.id }, { recheckAfter: Infinity });
  return { store, project: id, superAdmin, admin, first };
}

let template: Promise<{ readonly writes: readonly Write[]; readonly membership: string }> | undefined;

/**
 * The result of `initialize` in a store, without the tenth of a second for hashing a secret that no test uses: its
 * writes are recorded once.
 *
 * @returns the client of the super-admin project, signed in
 */
async function initialized(store: ResourceStore): Promise<Caller> {
  template ??= (async () => {
    const empty = new MemoryStore();
    const writes: Write[] = [];
    const { membership } = await initialize(
      storeWith(empty, {
        commit(all, options) {
          writes.push(...all);
          return empty.commit(all, options);
        },
      }),
    );
    return { writes, membership: membership.id };
  })();
  const { writes, membership } = await template;
  await store.commit(writes);
  return signIn(store, { membership });
}

/** The body of an invite: `person('Patient', 'Pat')` is Pat Smith, pat@example.org. */
export function person(
  resourceType: InviteBody['resourceType'],
  firstName: string,
  more: Partial<InviteBody | InviteDryRun> = {},
): InviteBody {
  const email = `${firstName.toLowerCase()}@example.org`;
  return { resourceType, firstName, lastName: 'Smith', email, ...more } as InviteBody;
}

/** Writes resources into a project as trusted code. */
export async function put(store: ResourceStore, project: string, ...resources: readonly AnyResource[]): Promise<void> {
  await guardStore(store, serverCaller(project)).commit(
    resources.map((resource) => ({ kind: 'put', key: { type: resource.resourceType, id: resource.id! }, resource })),
  );
}

export function policy(id: string, resource: AccessPolicy['resource'] = [{ resourceType: 'Patient' }]): AccessPolicy {
  return { resourceType: 'AccessPolicy', id, name: id, ...(resource === undefined ? {} : { resource }) };
}

export function organization(id: string): Organization {
  return { resourceType: 'Organization', id, name: id };
}

export function patient(id: string, more: Partial<Patient> = {}): Patient {
  return { resourceType: 'Patient', id, name: [{ given: [id], family: 'Smith' }], ...more };
}

/** A mailer that records its messages. */
export function keepingMailer(): Mailer & { readonly sent: Invitation[] } {
  const sent: Invitation[] = [];
  return { sent, send: (invitation) => void sent.push(invitation) };
}

/** The error that a call rejects with. */
export async function rejection(call: Promise<unknown>): Promise<FhirError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof FhirError) return error;
  throw new Error('expected a FhirError', { cause: error });
}

/** All resources of some projects and above them, as JSON texts by `project Type/id`. */
export async function contents(store: ResourceStore, ...projects: readonly string[]): Promise<Map<string, string>> {
  const all = new Map<string, string>();
  for (const project of [SERVER_SCOPE, ...projects]) {
    for (const type of R4.resourceTypes) {
      const { matches } = await store.search({ project, type, criteria: ALL });
      for (const { resource } of matches) all.set(`${project} ${type}/${resource.id!}`, JSON.stringify(resource));
    }
  }
  return all;
}

/** The number of resources of a type. */
export async function countOf(store: ResourceStore, project: string, type: string): Promise<number> {
  const { total } = await store.search({ project, type, criteria: ALL, limit: 0, total: true });
  return total!;
}

/** A store that records each call to it: the method and its types. */
export function recordingStore(inner: ResourceStore): { readonly store: ResourceStore; readonly calls: string[] } {
  const calls: string[] = [];
  const typesIn = (value: unknown): string[] =>
    Array.isArray(value)
      ? value.flatMap(typesIn)
      : typeof value === 'object' && value !== null && 'type' in value
        ? [String(value.type)]
        : [];
  const store = new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]): unknown => {
        calls.push([String(name), ...typesIn(values[0])].join(' '));
        return Reflect.apply(member, target, values) as unknown;
      };
    },
  });
  return { store, calls };
}
