import { readFileSync } from 'node:fs';
import { MedplumClient, OperationOutcomeError } from '@medplum/core';
import type { Bundle, Patient } from '@medplum/fhirtypes';
import { projectTerminology } from 'fhirgraph/terminology';
import { createTestService, type TestService } from 'fhirgraph/test-service';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readPage } from '../support/pages.js';

// Every public method of MedplumClient, unchanged and in this process, against the handler. The results are the lists
// in medplum.md.

const ROOT = new URL('../..', import.meta.url);

type Verdict = 'works' | 'differs' | 'not offered' | 'in the client';

type Call = (medplum: MedplumClient, service: TestService) => unknown;

const PDF = { content: ['x'] };
const LOGIN = {
  accessToken: 'x',
  refreshToken: 'x',
  profile: { reference: 'Practitioner/x' },
  project: { reference: 'Project/x' },
};
const ann = (service: TestService): Promise<Patient> => service.repository.read('Patient', 'ann');

const METHODS: { readonly [name: string]: Call } = {
  getInitPromise: (medplum) => medplum.getInitPromise(),
  getBaseUrl: (medplum) => expect(medplum.getBaseUrl()).toBe('https://fhir.test/'),
  getAuthorizeUrl: (medplum) => medplum.getAuthorizeUrl(),
  getTokenUrl: (medplum) => medplum.getTokenUrl(),
  getLogoutUrl: (medplum) => medplum.getLogoutUrl(),
  getFhircastHubUrl: (medplum) => medplum.getFhircastHubUrl(),
  getCdsServicesUrl: (medplum) => medplum.getCdsServicesUrl(),
  getDefaultHeaders: (medplum) => medplum.getDefaultHeaders(),
  clear: (medplum) => medplum.clear(),
  clearActiveLogin: (medplum) => medplum.clearActiveLogin(),
  invalidateUrl: (medplum) => medplum.invalidateUrl('x'),
  invalidateAll: (medplum) => medplum.invalidateAll(),
  invalidateSearches: (medplum) => medplum.invalidateSearches('Patient'),
  notifyResourceModified: (medplum) =>
    medplum.notifyResourceModified({ resourceType: 'Patient', operation: 'update' } as never),
  get: async (medplum) => expect(await medplum.get('fhir/R4/Patient/ann')).toMatchObject({ id: 'ann' }),
  post: async (medplum) =>
    expect(await medplum.post('fhir/R4/Patient', { resourceType: 'Patient', gender: 'male' })).toMatchObject({
      gender: 'male',
    }),
  put: async (medplum) =>
    expect(await medplum.put('fhir/R4/Patient/put', { resourceType: 'Patient', id: 'put' })).toMatchObject({
      id: 'put',
    }),
  patch: async (medplum) =>
    expect(await medplum.patch('fhir/R4/Patient/ann', [{ op: 'add', path: '/active', value: true }])).toMatchObject({
      active: true,
    }),
  delete: (medplum) => medplum.delete('fhir/R4/Patient/gone'),
  startNewUser: (medplum) => medplum.startNewUser({} as never),
  startNewProject: (medplum) => medplum.startNewProject({} as never),
  startNewPatient: (medplum) => medplum.startNewPatient({} as never),
  startLogin: (medplum) =>
    medplum.startLogin({ email: 'x', password: 'x', codeChallenge: 'x', codeChallengeMethod: 'S256' } as never),
  startGoogleLogin: (medplum) => medplum.startGoogleLogin({ codeChallenge: 'x', codeChallengeMethod: 'S256' } as never),
  ensureCodeChallenge: (medplum) => medplum.ensureCodeChallenge({ codeChallenge: 'x' }),
  signOut: (medplum) => medplum.signOut(),
  signInWithRedirect: (medplum) => medplum.signInWithRedirect(),
  signOutWithRedirect: (medplum) => medplum.signOutWithRedirect(),
  signInWithExternalAuth: (medplum) =>
    medplum.signInWithExternalAuth('https://id.test', 'x', 'https://x.test', {}, false),
  exchangeExternalAccessToken: (medplum) => medplum.exchangeExternalAccessToken('x', 'x'),
  getExternalAuthRedirectUri: (medplum) =>
    medplum.getExternalAuthRedirectUri('https://id.test', 'x', 'https://x.test', {}, false),
  fhirUrl: (medplum) => expect(medplum.fhirUrl('Patient', 'ann').href).toBe('https://fhir.test/fhir/R4/Patient/ann'),
  fhirSearchUrl: (medplum) => medplum.fhirSearchUrl('Patient', 'name=x'),
  search: async (medplum) =>
    expect(await medplum.search('Patient', '_id=ann&_include=Patient:organization&_fields=name')).toMatchObject({
      entry: [{ search: { mode: 'match' } }, { resource: { id: 'org' }, search: { mode: 'include' } }],
    }),
  searchOne: async (medplum) => expect((await medplum.searchOne('Patient', '_id=ann'))?.id).toBe('ann'),
  searchResources: async (medplum) =>
    expect(await medplum.searchResources('Observation', 'subject=Patient/ann')).toHaveLength(3),
  async searchResourcePages(medplum) {
    const pages: number[] = [];
    for await (const page of medplum.searchResourcePages('Observation', '_count=2')) pages.push(page.length);
    expect(pages).toEqual([2, 1]);
  },
  valueSetExpand: async (medplum) =>
    expect((await medplum.valueSetExpand({ url: 'urn:colours', filter: 'r' })).expansion?.contains).toEqual([
      { system: 'urn:colour', code: 'red' },
    ]),
  getCached: (medplum) => expect(medplum.getCached('Patient', 'ann')).toBeUndefined(),
  getCachedReference: (medplum) => medplum.getCachedReference({ reference: 'Patient/ann' }),
  readResource: async (medplum) =>
    expect((await medplum.readResource('Patient', 'ann')).name).toEqual([{ family: 'Brook' }]),
  readReference: async (medplum) => expect((await medplum.readReference({ reference: 'Patient/ann' })).id).toBe('ann'),
  readCanonical: async (medplum) =>
    expect((await medplum.readCanonical('Questionnaire', 'urn:questions'))?.id).toBe('questions'),
  requestSchema: (medplum) => medplum.requestSchema('Appointment'),
  requestProfileSchema: (medplum) =>
    medplum.requestProfileSchema('urn:profile').catch((error: Error) => expect(error.message).toContain('No schema')),
  readHistory: async (medplum) => expect((await medplum.readHistory('Patient', 'bob')).entry).toHaveLength(1),
  readVersion: async (medplum) => expect((await medplum.readVersion('Patient', 'bob', '1')).id).toBe('bob'),
  readPatientEverything: async (medplum) => expect((await medplum.readPatientEverything('ann')).entry).toHaveLength(5),
  readPatientSummary: (medplum) => medplum.readPatientSummary('ann'),
  createResource: async (medplum) =>
    expect((await medplum.createResource<Patient>({ resourceType: 'Patient' })).meta?.versionId).toBe('1'),
  async createResourceIfNoneExist(medplum) {
    const create = (): Promise<Patient> =>
      medplum.createResourceIfNoneExist<Patient>(
        { resourceType: 'Patient', identifier: [{ value: 'once' }] },
        'identifier=once',
      );
    expect((await create()).id).toBe((await create()).id);
  },
  async upsertResource(medplum) {
    const upsert = (gender: 'male' | 'female'): Promise<Patient> =>
      medplum.upsertResource<Patient>(
        { resourceType: 'Patient', gender, identifier: [{ value: 'upsert' }] },
        'identifier=upsert',
      );
    const first = await upsert('male');
    expect(await upsert('female')).toMatchObject({ id: first.id, gender: 'female' });
  },
  createAttachment: async (medplum) => {
    const { url } = await medplum.createAttachment({ data: 'x', contentType: 'text/plain' });
    expect(await (await medplum.download(url!)).text()).toBe('x');
  },
  createBinary: async (medplum, service) => {
    const securityContext = { reference: 'Patient/ann' };
    const binary = await medplum.createBinary({ data: 'hello', contentType: 'text/plain', securityContext });
    expect(await service.repository.read('Binary', binary.id)).toMatchObject({
      contentType: 'text/plain',
      securityContext,
    });
    expect(await (await medplum.download(binary.url!)).text()).toBe('hello');
    expect((await medplum.readResource('Binary', binary.id)).data).toBe(btoa('hello'));
  },
  uploadwithProgress: (medplum) =>
    medplum.uploadwithProgress(medplum.fhirUrl('Binary'), 'x', 'text/plain', () => undefined),
  createPdf: (medplum) => medplum.createPdf({ docDefinition: PDF }),
  createComment: async (medplum, service) =>
    expect(await medplum.createComment(await ann(service), 'hello')).toMatchObject({
      payload: [{ contentString: 'hello' }],
    }),
  updateResource: async (medplum, service) =>
    expect((await medplum.updateResource({ ...(await ann(service)), gender: 'female' })).gender).toBe('female'),
  patchResource: async (medplum) =>
    expect((await medplum.patchResource('Patient', 'bob', [{ op: 'add', path: '/active', value: true }])).active).toBe(
      true,
    ),
  deleteResource: (medplum) => medplum.deleteResource('Patient', 'gone'),
  validateResource: async (medplum) =>
    expect(await medplum.validateResource<Patient>({ resourceType: 'Patient', gender: 'x' as never })).toMatchObject({
      issue: [{ severity: 'error', expression: ['Patient.gender'] }],
    }),
  executeBot: (medplum) => medplum.executeBot('x', {}),
  async executeBatch(medplum) {
    const entry = [
      { request: { method: 'GET' as const, url: 'Patient/bob' } },
      { request: { method: 'GET' as const, url: 'Patient/none' } },
    ];
    const { entry: answers } = await medplum.executeBatch({ resourceType: 'Bundle', type: 'batch', entry });
    expect(answers?.map(({ response }) => response?.status)).toEqual(['200 OK', '404 Not Found']);
  },
  sendEmail: (medplum) => medplum.sendEmail({ to: 'x@example.org', subject: 'x', text: 'x' }),
  async graphql(medplum) {
    const create = 'mutation c($res: PatientCreate!) { PatientCreate(res: $res) { gender } }';
    expect(await medplum.graphql(create, 'c', { res: { resourceType: 'Patient', gender: 'other' } })).toEqual({
      data: { PatientCreate: { gender: 'other' } },
    });
  },
  readResourceGraph: (medplum) => medplum.readResourceGraph('Patient', 'ann', 'x'),
  pushToAgent: (medplum) => medplum.pushToAgent({ reference: 'Agent/x' }, 'x', 'x'),
  getCdsServices: (medplum) => medplum.getCdsServices(),
  callCdsService: (medplum) => medplum.callCdsService('x', {} as never),
  getActiveLogin: (medplum) => expect(medplum.getActiveLogin()).toBeUndefined(),
  setActiveLogin: (medplum) => medplum.setActiveLogin(LOGIN),
  getAccessToken: (medplum) => medplum.getAccessToken(),
  isAuthenticated: (medplum) => medplum.isAuthenticated(),
  setAccessToken: (medplum) => medplum.setAccessToken('x'),
  getLogins: (medplum) => medplum.getLogins(),
  isLoading: (medplum) => medplum.isLoading(),
  isSuperAdmin: (medplum) => medplum.isSuperAdmin(),
  isProjectAdmin: (medplum) => medplum.isProjectAdmin(),
  getProject: (medplum) => medplum.getProject(),
  getProjectMembership: (medplum) => medplum.getProjectMembership(),
  getProfile: (medplum) => medplum.getProfile(),
  getProfileAsync: (medplum) => medplum.getProfileAsync(),
  getUserConfiguration: (medplum) => medplum.getUserConfiguration(),
  getAccessPolicy: (medplum) => medplum.getAccessPolicy(),
  download: async (medplum) => expect((await medplum.download('fhir/R4/Patient/ann')).type).toContain('json'),
  downloadResponse: async (medplum) => expect((await medplum.downloadResponse('fhir/R4/Patient/ann')).status).toBe(200),
  createMedia: async (medplum) => {
    const { content } = await medplum.createMedia({ data: 'x', contentType: 'text/plain', filename: 'x' });
    expect(await (await medplum.download(content.url!)).text()).toBe('x');
  },
  uploadMedia: (medplum) => medplum.uploadMedia('x', 'text/plain', 'x'),
  createDocumentReference: (medplum) =>
    medplum.createDocumentReference({ data: 'x', contentType: 'text/plain', filename: 'x' }),
  bulkExport: (medplum) => medplum.bulkExport(),
  startAsyncRequest: (medplum) => medplum.startAsyncRequest('https://fhir.test/fhir/R4/$export'),
  wrappedFetch: async (medplum) =>
    expect((await medplum.wrappedFetch('https://fhir.test/fhir/R4/metadata', {})).status).toBe(200),
  rateLimitStatus: (medplum) => medplum.rateLimitStatus(),
  startPkce: (medplum) => medplum.startPkce(),
  processCode: (medplum) => medplum.processCode('x'),
  refreshIfExpired: (medplum) => medplum.refreshIfExpired(),
  startClientLogin: (medplum) => medplum.startClientLogin('x', 'x'),
  startJwtBearerLogin: (medplum) => medplum.startJwtBearerLogin('x', 'x', 'x'),
  startJwtAssertionLogin: (medplum) => medplum.startJwtAssertionLogin('x'),
  setBasicAuth: (medplum) => medplum.setBasicAuth('x', 'x'),
  setLogLevel: (medplum) => medplum.setLogLevel('none'),
  getLogLevel: (medplum) => medplum.getLogLevel(),
  setVerbose: (medplum) => medplum.setVerbose(false),
  fhircastSubscribe: (medplum) => medplum.fhircastSubscribe('x', ['Patient-open']),
  fhircastUnsubscribe: (medplum) =>
    medplum.fhircastUnsubscribe({
      topic: 'x',
      mode: 'unsubscribe',
      channelType: 'websocket',
      events: ['Patient-open'],
      endpoint: 'wss://x',
    } as never),
  fhircastConnect: (medplum) =>
    medplum.fhircastConnect({
      topic: 'x',
      mode: 'subscribe',
      channelType: 'websocket',
      events: ['Patient-open'],
      endpoint: 'wss://x',
    } as never),
  fhircastPublish: (medplum) =>
    medplum.fhircastPublish('x', 'Patient-open', {
      key: 'patient',
      resource: { resourceType: 'Patient', id: 'ann' },
    } as never),
  fhircastGetContext: (medplum) => medplum.fhircastGetContext('x'),
  invite: async (medplum, { project }) =>
    expect(
      await medplum.invite(project, {
        resourceType: 'Patient',
        firstName: 'Cleo',
        lastName: 'Brook',
        email: 'cleo@example.org',
      }),
    ).toMatchObject({ resourceType: 'ProjectMembership', profile: { display: 'Cleo Brook' } }),
  getSubscriptionManager: (medplum) => medplum.getSubscriptionManager(),
  subscribeToCriteria: (medplum) => medplum.subscribeToCriteria('Patient'),
  unsubscribeFromCriteria: (medplum) => medplum.unsubscribeFromCriteria('Patient'),
  getMasterSubscriptionEmitter: (medplum) => medplum.getMasterSubscriptionEmitter(),
};

/** Methods with answers that differ from those of Medplum's server; for other methods, the call shows it. */
const DIFFERS: { readonly [name: string]: string } = {
  requestSchema: 'finds the StructureDefinitions and SearchParameters that the project holds',
  requestProfileSchema: 'finds the profiles that the project holds',
  readPatientEverything: 'pages of 100, each with the resources that it refers to; follow the next links',
  validateResource: 'findings come as the outcome; it checks the profiles in `meta.profile` that the definitions have',
};

/** They need a WebSocket: a connection that the client keeps open. */
const SOCKETS = [
  'fhircastConnect',
  'getSubscriptionManager',
  'subscribeToCriteria',
  'unsubscribeFromCriteria',
  'getMasterSubscriptionEmitter',
];

let service: TestService;
beforeAll(async () => {
  // The client reports features of browsers that this process lacks.
  vi.spyOn(console, 'error').mockReturnValue();
  vi.spyOn(console, 'warn').mockReturnValue();
  vi.stubGlobal(
    'WebSocket',
    class extends EventTarget {
      close(): void {}
      send(): void {}
    },
  );
  const subject = { reference: 'Patient/ann' };
  service = await createTestService({
    config: { terminology: projectTerminology() },
    data: [
      {
        resourceType: 'ValueSet',
        id: 'colours',
        url: 'urn:colours',
        status: 'active',
        compose: { include: [{ system: 'urn:colour', concept: [{ code: 'red' }, { code: 'blue' }] }] },
      },
      { resourceType: 'Organization', id: 'org', name: 'Clinic' },
      {
        resourceType: 'Patient',
        id: 'ann',
        name: [{ family: 'Brook' }],
        managingOrganization: { reference: 'Organization/org' },
      },
      { resourceType: 'Patient', id: 'bob' },
      { resourceType: 'Patient', id: 'gone' },
      { resourceType: 'Questionnaire', id: 'questions', url: 'urn:questions', status: 'active' },
      ...['o1', 'o2', 'o3'].map((id) => ({
        resourceType: 'Observation' as const,
        id,
        status: 'final' as const,
        code: { text: 'x' },
        subject,
      })),
    ],
  });
});
afterAll(async () => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  await service.close();
});

const documented = readPage('medplum');

/** The result of a method. */
async function verdictOf(name: string): Promise<Verdict> {
  if (SOCKETS.includes(name)) return 'not offered';
  let requests = 0;
  const counted: typeof fetch = (...request) => {
    requests += 1;
    return service.fetch(...request);
  };
  const medplum = new MedplumClient({ baseUrl: service.clientUrl, fetch: counted, cacheTime: 0, autoBatchTime: 0 });
  try {
    await METHODS[name]!(medplum, service);
  } catch (error) {
    // A failed expectation is not a verdict.
    if ((error as Error).name === 'AssertionError') throw error;
    if (requests === 0) return 'in the client';
    if (error instanceof OperationOutcomeError || /not|Failed|token/i.test((error as Error).message))
      return 'not offered';
    throw error;
  }
  if (DIFFERS[name] !== undefined) return 'differs';
  return requests === 0 ? 'in the client' : 'works';
}

describe('MedplumClient in this process', () => {
  test('is tested with a call of each public method', () => {
    const types = readFileSync(new URL('node_modules/@medplum/core/dist/esm/index.d.ts', ROOT), 'utf8');
    const start = types.indexOf('export declare class MedplumClient ');
    const members = types.slice(start, types.indexOf('\n}', start));
    const names = [...members.matchAll(/^ {4}([a-zA-Z]+)(?:<[^(]*)?\(/gm)].map(([, name]) => name!);
    expect(Object.keys(METHODS)).toEqual([...new Set(names)].filter((name) => name !== 'constructor'));
  });

  test('has the results that medplum.md lists', async () => {
    const methods: Record<Verdict, string[]> = { works: [], differs: [], 'not offered': [], 'in the client': [] };
    const rows: string[] = [];
    for (const name of Object.keys(METHODS)) {
      const verdict = await verdictOf(name);
      methods[verdict].push(`\`${name}\``);
      if (verdict === 'differs') rows.push(`| \`${name}\` | ${DIFFERS[name]!} |`);
    }
    expect(documented).toContain(`These methods work: ${methods.works.join(', ')}.`);
    expect(documented).toContain(`the client throws says why: ${methods['not offered'].join(', ')}.`);
    expect(documented).toContain(`|---|---|\n${rows.join('\n')}\n\n`);
  });
});

test('reads a search page of Medplum: columns, includes, the total and the next page', async () => {
  const medplum = new MedplumClient({ baseUrl: service.clientUrl, fetch: service.fetch });
  const page = (await medplum.search(
    'Observation',
    '_count=2&_fields=_lastUpdated,code,subject&_sort=-_lastUpdated&_total=accurate&_include=Observation:subject&_revinclude=Provenance:target',
  )) as Bundle;
  expect([page.total, page.entry?.map(({ search }) => search?.mode)]).toEqual([3, ['match', 'match', 'include']]);
  expect(Object.keys(page.entry![0]!.resource!).sort()).toEqual([
    'code',
    'id',
    'meta',
    'resourceType',
    'status',
    'subject',
  ]);
  // A reduced resource must not replace the whole resource in the client's cache.
  expect(medplum.getCached('Observation', page.entry![0]!.resource!.id!)).toBeUndefined();
});
