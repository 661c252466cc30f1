import type { AccessPolicy, Patient, Resource } from '@medplum/fhirtypes';
import { createFhirHandler, type FhirHandler, type FhirHandlerConfig } from '../../../src/http.js';
import {
  type AuditRecord,
  createProject,
  createRepository,
  initialize,
  invite,
  MemoryStore,
  type Repository,
  type ResourceStore,
  signIn,
  systemCaller,
} from '../../../src/index.js';

/** The answer of a handler, with its JSON parsed. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

export interface CallOptions {
  readonly as?: string | null;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
}

/** A service in this process. Tokens are the names of its members: `admin`, `nurse`, `operator`. */
export interface Service {
  readonly handler: FhirHandler;
  readonly store: ResourceStore;
  readonly project: string;
  /** Trusted code of the project. */
  readonly trusted: Repository;
  readonly audit: AuditRecord[];
  readonly errors: unknown[];
  /** Sends a request, by default as the administrator; null sends no token. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export const BASE = 'https://clinic.example/fhir/R4';

/** The nurse sees the female patients, without birth dates and addresses, and the resources about them. */
const POLICY: AccessPolicy = {
  resourceType: 'AccessPolicy',
  name: 'Ward',
  resource: [
    { resourceType: 'Patient', criteria: 'Patient?gender=female', hiddenFields: ['birthDate', 'address'] },
    { resourceType: 'Observation', criteria: 'Observation?subject:Patient.gender=female', readonly: true },
    { resourceType: 'Condition', criteria: 'Condition?clinical-status=active', hiddenFields: ['subject'] },
  ],
};

export async function openService({
  baseUrl = BASE,
  store = new MemoryStore({ baseUrl }),
  ...more
}: Partial<FhirHandlerConfig> = {}): Promise<Service> {
  const operations = await initialize(store, { name: 'Operations' });
  const context = { store, caller: operations.caller };
  const project = (await createProject({ resourceType: 'Project', name: 'Clinic', strictMode: false }, context)).id;
  const trusted = createRepository({ store, caller: systemCaller(project) });
  const policy = await trusted.create(POLICY);
  const person = (firstName: string): object => ({
    ...{ resourceType: 'Practitioner', firstName, lastName: 'Stone', email: `${firstName.toLowerCase()}@example.org` },
  });
  const ada = await invite(project, { ...person('Ada'), admin: true } as never, context);
  const access = [{ policy: { reference: `AccessPolicy/${policy.id}` } }];
  const ned = await invite(project, { ...person('Ned'), membership: { access } } as never, context);
  const members = new Map([
    ['admin', ada.membership.id],
    ['nurse', ned.membership.id],
    ['operator', operations.membership.id],
  ]);
  const audit: AuditRecord[] = [];
  const errors: unknown[] = [];
  const handler = createFhirHandler({
    store,
    baseUrl,
    audit: (record) => void audit.push(record),
    onError: (error) => errors.push(error),
    async signIn(request) {
      const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
      return token === undefined ? undefined : signIn(store, { membership: members.get(token)! });
    },
    ...more,
  });
  return { handler, store, project, trusted, audit, errors, call: (...sent) => send(handler, ...sent) };
}

export async function send(
  handler: FhirHandler,
  method: string,
  path: string,
  { as = 'admin', body, headers }: CallOptions = {},
): Promise<Answer> {
  const url = path.startsWith('https:')
    ? path
    : path.startsWith('/')
      ? `https://clinic.example${path}`
      : `${BASE}/${path}`;
  const sent = new Headers(headers);
  if (as !== null && !sent.has('authorization')) sent.set('authorization', `Bearer ${as}`);
  if (body !== undefined && !sent.has('content-type')) sent.set('content-type', 'application/fhir+json');
  const content = typeof body === 'string' || body instanceof ReadableStream ? body : JSON.stringify(body);
  const init = { method, headers: sent, ...(body === undefined ? {} : { body: content, duplex: 'half' }) };
  const response = await handler(new Request(url, init));
  const text = await response.text();
  const isJson = text !== '' && /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

export function patient(more: Partial<Patient> = {}): Patient {
  return { resourceType: 'Patient', gender: 'female', ...more };
}

/** The text of an OperationOutcome's first issue. */
export function outcomeText({ body }: Answer): string | undefined {
  return (body as { issue: [{ details?: { text?: string } }] }).issue[0].details?.text;
}

export function idOf({ body }: Answer): string {
  return (body as Resource).id!;
}
