import type { AccessPolicy, Bundle, Reference, Resource } from '@medplum/fhirtypes';
import type { AuditRecord } from '../audit/audit-record.js';
import { type Caller, type MemberCaller, systemCaller } from '../access/caller.js';
import { signIn } from '../access/sign-in/sign-in.js';
import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import { createFhirHandler, toFetch } from '../http/handler/create-fhir-handler.js';
import type { FhirHandler, FhirHandlerConfig } from '../http/exchange/handler-config.js';
import { importBundle } from '../import/bundle/import-bundle.js';
import type { InviteBody } from '../projects/body/invite-body.js';
import { initialize } from '../projects/clients/initialize.js';
import { invite } from '../projects/invite/invite.js';
import type { Invitation, Mailer } from '../projects/mail/invitation.js';
import { createProject } from '../projects/project/create-project.js';
import { createRepository } from '../repository/create-repository.js';
import type { Repository } from '../repository/repository.js';
import { randomId } from '../platform/crypto.js';
import type { ResourceStore } from '../store/store.js';
import type { CommittedChange } from '../store/changes.js';
import { MemoryStore } from '../stores/memory/store.js';

/** Options of a test service; all have defaults. */
export interface TestServiceOptions {
  /**
   * The initial data of the project: resources, which keep their ids, or a Bundle. References between the entries of a
   * Bundle by fullUrl are resolved.
   */
  readonly data?: readonly Resource[] | Bundle | undefined;
  /**
   * Access policies by names of your own, without `resourceType` if you like; {@link TestService.member} makes members with
   * them.
   */
  readonly policies?: { readonly [name: string]: Partial<AccessPolicy> } | undefined;
  /**
   * When the test takes place. The clock of the service stands still there until the test moves it. Default: the system's
   * clock.
   */
  readonly now?: Date | undefined;
  /** Default: a new MemoryStore, which `close` closes. A store of the test has a clock of its own. */
  readonly store?: ResourceStore | undefined;
  /** Whether resources are checked against R4. Default true, as in projects from `createProject`. */
  readonly strictMode?: boolean | undefined;
  /** Further options of the handler: `limits`, `dialect`, `routes` and the like. */
  readonly config?: TestServiceConfig | undefined;
}

/** The options of a handler, all optional. */
export type TestServiceConfig = {
  readonly [Name in Exclude<keyof FhirHandlerConfig, 'store'>]?: FhirHandlerConfig[Name] | undefined;
};

/** A service in this process with one project and its administrator. It opens no socket. */
export interface TestService {
  readonly handler: FhirHandler;
  readonly store: ResourceStore;
  /** The FHIR base; clients such as MedplumClient take the part before `fhir/R4`, {@link TestService.clientUrl}. */
  readonly baseUrl: string;
  readonly clientUrl: string;
  /** The id of the project. */
  readonly project: string;
  /** The project's administrator, a Practitioner without an access policy. */
  readonly administrator: MemberCaller;
  /** `fetch` as the administrator. */
  readonly fetch: typeof fetch;
  /** A repository as `systemCaller` of the project, to inspect what a test has written. */
  readonly repository: Repository;
  /** The invitations that were sent, and the audit records, oldest first. */
  readonly invitations: readonly Invitation[];
  readonly audit: readonly AuditRecord[];
  /** The errors that `onError` received. */
  readonly errors: readonly unknown[];
  /** Invites somebody as the administrator and signs them in. The e-mail is among `invitations`. */
  invite(body: InviteBody): Promise<MemberCaller>;
  /**
   * Signs in a new member with one of the `policies`.
   *
   * @param person what differs from a Practitioner called Test
   * @throws FhirError `invalid` - there is no policy of that name
   */
  member(
    policy: string,
    person?: { readonly [Name in keyof InviteBody]?: InviteBody[Name] | undefined },
  ): Promise<MemberCaller>;
  /** What was committed in the project since the service was made, oldest first. */
  events(): Promise<readonly CommittedChange[]>;
  /** Moves the clock on, in milliseconds. @throws FhirError `invalid` - the option `now` was not given */
  advance(milliseconds: number): void;
  /** `fetch` as somebody else; null: without a token. */
  fetchAs(caller: Caller | null): typeof fetch;
  /** Closes the store, unless the test passed its own. */
  close(): Promise<void>;
}

const CLIENT_URL = 'https://fhir.test/';

/**
 * Creates a service for unit tests: a project with its administrator, the given data, and `fetch` for clients.
 *
 * @throws FhirError of the data that cannot be imported
 *
 * @example
 * const service = await createTestService({ data: [{ resourceType: 'Patient', id: 'ann' }] });
 * const medplum = new MedplumClient({ baseUrl: service.clientUrl, fetch: service.fetch });
 */
export async function createTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const clock = testClock(options.now);
  const { data = [], strictMode = true, config = {} } = options;
  const ownBase = config.baseUrl ?? `${CLIENT_URL}fhir/R4`;
  const store = options.store ?? new MemoryStore({ clock: clock.now, baseUrl: ownBase });
  const { caller: operator } = await initialize(store, { name: 'Operations' });
  const context = { store, caller: operator, clock: clock.now };
  const project = (await createProject({ resourceType: 'Project', name: 'Test', strictMode }, context)).id;
  const person = { resourceType: 'Practitioner', firstName: 'Test', lastName: 'Administrator' } as const;
  const { membership } = await invite(project, { ...person, email: 'administrator@fhir.test', admin: true }, context);
  const trusted = systemCaller(project);
  const baseUrl = store.model.baseUrl ?? ownBase;
  await importBundle(bundleOf(data), { store, caller: trusted, baseUrl });
  const policies = await writePolicies(options.policies ?? {}, createRepository({ store, caller: trusted }));
  const signedIn = (member: string): Promise<MemberCaller> =>
    signIn(store, { membership: member }, { clock: clock.now });
  const administrator = await signedIn(membership.id);
  const invitations: Invitation[] = [];
  const mailer: Mailer = { send: (invitation) => void invitations.push(invitation) };
  const begun = await store.changes?.({ project });
  const audit: AuditRecord[] = [];
  const errors: unknown[] = [];
  const handler = createFhirHandler({
    mailer,
    clock: clock.now,
    audit: (record) => void audit.push(record),
    onError: (error) => void errors.push(error),
    signIn: () => undefined,
    ...withoutUndefined(config),
    store,
    baseUrl,
  });
  const enrol = async (body: InviteBody): Promise<MemberCaller> => {
    const invited = await invite(project, body, { store, caller: administrator, mailer, clock: clock.now });
    return signedIn(invited.membership.id);
  };
  return {
    ...{ handler, store, baseUrl, project, administrator, invitations, audit, errors },
    clientUrl: baseUrl.replace(/fhir\/R4\/?$/, ''),
    fetch: toFetch(handler, { caller: administrator }),
    repository: createRepository({ store, caller: trusted, baseUrl }),
    invite: enrol,
    async member(policy, more = {}) {
      const accessPolicy = policies.get(policy);
      if (accessPolicy === undefined) throw new FhirError('invalid', `There is no policy called ${quote(policy)}`);
      const named = { ...person, firstName: 'Test', lastName: 'Member', email: `${randomId()}@fhir.test` };
      return enrol({ ...named, sendEmail: false, accessPolicy, ...more } as InviteBody);
    },
    events: async () =>
      begun === undefined ? [] : (await store.changes!({ project, after: begun.position, limit: 1_000 })).changes,
    advance: clock.advance,
    fetchAs: (caller) => toFetch(handler, caller === null ? {} : { caller }),
    close: async () => (options.store === undefined ? store.close() : undefined),
  };
}

/** A clock that stands still from an instant on; without one, the system's. */
function testClock(start: Date | undefined): {
  readonly now: () => Date;
  readonly advance: (milliseconds: number) => void;
} {
  let time = start?.getTime();
  return {
    now: () => (time === undefined ? new Date() : new Date(time)),
    advance(milliseconds) {
      if (time === undefined) throw new FhirError('invalid', 'advance needs the option now');
      time += milliseconds;
    },
  };
}

async function writePolicies(
  policies: NonNullable<TestServiceOptions['policies']>,
  repository: Repository,
): Promise<ReadonlyMap<string, Reference<AccessPolicy>>> {
  const written = new Map<string, Reference<AccessPolicy>>();
  for (const [name, policy] of Object.entries(policies)) {
    const { id } = await repository.create<AccessPolicy>({ name, ...policy, resourceType: 'AccessPolicy' });
    written.set(name, { reference: `AccessPolicy/${id}` });
  }
  return written;
}

/** A transaction that stores the data under its own ids; Bundles that are requests already stay as they are. */
function bundleOf(data: readonly Resource[] | Bundle): Bundle {
  if (isBundle(data) && (data.type === 'transaction' || data.type === 'batch')) return data;
  const entries = isBundle(data)
    ? (data.entry ?? []).map(({ fullUrl, resource }) => ({ ...(fullUrl && { fullUrl }), resource: resource! }))
    : data.map((resource) => ({ resource }));
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: entries.map((entry) => ({ ...entry, request: { method: 'POST', url: entry.resource.resourceType } })),
  };
}

function withoutUndefined(config: TestServiceConfig): Partial<FhirHandlerConfig> {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

function isBundle(data: readonly Resource[] | Bundle): data is Bundle {
  return !Array.isArray(data);
}
