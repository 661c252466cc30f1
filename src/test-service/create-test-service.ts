import type { Bundle, Resource } from '@medplum/fhirtypes';
import type { AuditRecord } from '../audit/audit-record.js';
import { type Caller, type MemberCaller, systemCaller } from '../access/caller.js';
import { signIn } from '../access/sign-in/sign-in.js';
import { createFhirHandler, toFetch } from '../http/handler/create-fhir-handler.js';
import type { FhirHandler, FhirHandlerConfig } from '../http/exchange/handler-config.js';
import { importBundle } from '../import/bundle/import-bundle.js';
import type { InviteBody } from '../projects/body/invite-body.js';
import { initialize } from '../projects/clients/initialize.js';
import { invite } from '../projects/invite/invite.js';
import type { Invitation } from '../projects/mail/invitation.js';
import { createProject } from '../projects/project/create-project.js';
import { createRepository } from '../repository/create-repository.js';
import type { Repository } from '../repository/repository.js';
import type { ResourceStore } from '../store/store.js';
import { MemoryStore } from '../stores/memory/store.js';

/** Options of a test service; all have defaults. */
export interface TestServiceOptions {
  /**
   * The initial data of the project: resources, which keep their ids, or a Bundle. References between the entries of a
   * Bundle by fullUrl are resolved.
   */
  readonly data?: readonly Resource[] | Bundle | undefined;
  /** Default: a new MemoryStore, which `close` closes. */
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
  /** Invites somebody as the administrator and signs them in. */
  invite(body: InviteBody): Promise<MemberCaller>;
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
  const { data = [], store = new MemoryStore(), strictMode = true, config = {} } = options;
  const { caller: operator } = await initialize(store, { name: 'Operations' });
  const context = { store, caller: operator };
  const project = (await createProject({ resourceType: 'Project', name: 'Test', strictMode }, context)).id;
  const person = { resourceType: 'Practitioner', firstName: 'Test', lastName: 'Administrator' } as const;
  const { membership } = await invite(project, { ...person, email: 'administrator@fhir.test', admin: true }, context);
  const trusted = systemCaller(project);
  const baseUrl = config.baseUrl ?? `${CLIENT_URL}fhir/R4`;
  await importBundle(bundleOf(data), { store, caller: trusted, baseUrl });
  const administrator = await signIn(store, { membership: membership.id });
  const invitations: Invitation[] = [];
  const audit: AuditRecord[] = [];
  const errors: unknown[] = [];
  const handler = createFhirHandler({
    mailer: { send: (invitation) => void invitations.push(invitation) },
    audit: (record) => void audit.push(record),
    onError: (error) => void errors.push(error),
    signIn: () => undefined,
    ...withoutUndefined(config),
    store,
    baseUrl,
  });
  return {
    ...{ handler, store, baseUrl, project, administrator, invitations, audit, errors },
    clientUrl: baseUrl.replace(/fhir\/R4\/?$/, ''),
    fetch: toFetch(handler, { caller: administrator }),
    repository: createRepository({ store, caller: trusted, baseUrl }),
    async invite(body) {
      const invited = await invite(project, body, { store, caller: administrator });
      return signIn(store, { membership: invited.membership.id });
    },
    fetchAs: (caller) => toFetch(handler, caller === null ? {} : { caller }),
    close: async () => (options.store === undefined ? store.close() : undefined),
  };
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
