import { beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../src/http/handler/routes.js';
import { type Answer, openService, outcomeText, patient, type Service } from './open-service.js';

/** Reads, which take any parameters: the unknown ones change nothing. All other routes write or export. */
const READS: ReadonlySet<string> = new Set([
  'GET metadata',
  'GET .well-known/smart-configuration',
  'GET healthcheck',
  'GET $graphql',
  'GET :type/:id/$graphql',
  'GET Binary/:id',
  'GET Binary/:id/_history/:version',
  'GET :type/:id',
  'GET :type/:id/_history/:version',
]);

let service: Service;
let before: string;
beforeAll(async () => {
  service = await openService({
    identify: () => ({ externalId: 'ada', email: 'ada@example.org', emailVerified: true }),
  });
  await service.trusted.update(patient({ id: 'p', name: [{ family: 'Lee' }] }) as never);
  before = await contents();
});

/** Everything in the project, and its members and state. */
async function contents(): Promise<string> {
  const lines = (await service.call('GET', `/admin/projects/${service.project}/export?history=true`)).text;
  const [first, ...others] = lines.trimEnd().split('\n');
  return [JSON.stringify({ ...JSON.parse(first!), exported: undefined, date: undefined }), ...others].join('\n');
}

/** A body that the route would take, so that only the parameter can be at fault. */
const BODIES: { readonly [path: string]: object } = {
  'projects/:project/erase-resource': { type: 'Patient', id: 'p', reason: 'test' },
  'projects/:project/erase-patient': { id: 'p', reason: 'test' },
  'projects/:project/purge-history': { keep: 1 },
  'projects/:project': { name: 'Renamed' },
  'projects/:project/members/:membership': { admin: false },
  'invitations/accept': { token: 'none' },
  '': { resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'DELETE', url: 'Patient/p' } }] },
};

async function ask(route: (typeof ROUTES)[number], query: string): Promise<Answer> {
  const { body: members } = await service.call('GET', `/admin/projects/${service.project}/members?name=Ned`);
  const member = (members as { entry: [{ resource: { id: string } }] }).entry[0].resource.id;
  // No Patient is in the compartment of a visit.
  const type = route.path.startsWith('Encounter/') ? 'Observation' : 'Patient';
  const values = { type, id: 'p', version: '1', project: service.project, membership: member };
  const path = route.path.replace(/:(\w+)/g, (_, name: keyof typeof values) => values[name]);
  const isOfTypes = route.path === '_search' || (route.path === '' && route.method === 'GET');
  const url = `${{ fhir: '', admin: '/admin/', beside: '/' }[route.root]}${path}?${isOfTypes ? '_type=Patient&' : ''}${query}`;
  const isForm = route.path.endsWith('_search');
  const isOperation = /\$(?!graphql|validate$)/.test(route.path);
  const isPatch = route.method === 'PATCH' && route.root === 'fhir';
  const body =
    route.method === 'GET' || route.method === 'DELETE'
      ? undefined
      : isForm
        ? 'gender=female'
        : (BODIES[route.path] ??
          (isOperation
            ? { resourceType: 'Parameters' }
            : isPatch
              ? []
              : { ...patient({ id: 'p' }), query: '{ PatientList { id } }' }));
  const headers = {
    'content-type': isForm
      ? 'application/x-www-form-urlencoded'
      : route.isGraphql
        ? 'application/json'
        : 'application/fhir+json',
  };
  // Removals are for super administrators; the others for administrators of the project.
  const as = route.root === 'admin' && !route.path.includes('members') ? 'operator' : 'admin';
  return service.call(route.method, url, { as, headers, ...(body === undefined ? {} : { body }) });
}

describe.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (name, route) => {
  test.runIf(!READS.has(name))('refuses an unknown parameter, and changes nothing', async () => {
    for (const query of ['dryRnu=true', 'dryRnu=', 'gender=female&dryRnu=true', 'name=Clinic&dryRnu=true']) {
      const answer = await ask(route, query);
      expect([query, answer.status]).toEqual([query, 400]);
      // A condition of a write is refused for a parameter without a value, whatever its name.
      expect(outcomeText(answer)).toMatch(
        query === 'dryRnu=' ? /nknown|has no value/ : /[Uu]nknown (search )?parameter/,
      );
    }
    expect(await contents()).toBe(before);
  });

  test.runIf(READS.has(name))('ignores an unknown parameter, because nothing depends on it', async () => {
    expect(route.method).toBe('GET');
    const [plain, more] = [
      await ask(route, 'query={PatientList{id}}'),
      await ask(route, 'query={PatientList{id}}&x=1'),
    ];
    expect([more.status, more.text]).toEqual([plain.status, plain.text]);
  });
});

test('the known parameters of such a route are given once', async () => {
  const project = `/admin/projects/${service.project}`;
  for (const [method, path] of [
    ['DELETE', `${project}?name=Clinic&name=Other`],
    ['GET', `${project}/export?history=true&history=false`],
    ['POST', 'Patient/$validate?mode=create&mode=delete'],
  ] as const) {
    const body = method === 'POST' ? { body: patient() } : {};
    const answer = await service.call(method, path, { as: method === 'DELETE' ? 'operator' : 'admin', ...body });
    expect([answer.status, outcomeText(answer)]).toEqual([
      400,
      expect.stringMatching(/^"\w+" may be given once, not several times$/),
    ]);
  }
});

test('the message names what the request takes', async () => {
  const project = `/admin/projects/${service.project}`;
  expect(outcomeText(await service.call('GET', `${project}/export?histroy=true`))).toBe(
    'Unknown parameter "histroy"; this request takes "history"',
  );
  const erase = await service.call('POST', `${project}/erase-patient?dryRun=true`, {
    as: 'operator',
    body: { id: 'p', reason: 'test' },
  });
  expect(outcomeText(erase)).toBe('Unknown parameter "dryRun"; this request takes no query parameters');
});

test('_format and _pretty are known everywhere, and the file name that MedplumClient sends for a Binary', async () => {
  const created = await service.call('POST', 'Patient?_format=json&_pretty=true', { body: patient() });
  expect(created.status).toBe(201);
  const headers = { 'content-type': 'image/png' };
  const binary = await service.call('POST', 'Binary?_filename=a.png', { headers, body: 'png' });
  expect(binary.status).toBe(201);
});
