import type { AccessPolicy, Bundle, Project, ProjectMembership } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { createRepository, invite, signIn, systemCaller } from '../../../src/index.js';
import { type Answer, openService, type Service } from './open-service.js';

let people = 0;
const person = (firstName: string): object => {
  people += 1;
  return { resourceType: 'Practitioner', firstName, lastName: 'Brook', externalId: `person-${people}` };
};

/** Every URL of an answer: in its headers, and below `fullUrl`, `url` and `reference` as far as they are absolute. */
function urlsOf({ headers, body }: Answer): string[] {
  const urls = ['location', 'content-location'].flatMap((name) => headers.get(name) ?? []);
  JSON.stringify(body, (name, value: unknown) => {
    if ((name === 'fullUrl' || name === 'url') && typeof value === 'string') urls.push(value);
    return value;
  });
  return urls;
}

/** Follows every URL of an answer, and those of the answers. @returns the number of different URLs */
async function follow({ call }: Service, as: string, first: Answer): Promise<number> {
  const [waiting, seen] = [urlsOf(first), new Set<string>()];
  for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
    if (seen.has(url)) continue;
    seen.add(url);
    expect(url).toMatch(/^https:\/\/clinic\.example\//);
    const answer = await call('GET', url, { as });
    expect([as, url, answer.status]).toEqual([as, url, 200]);
    waiting.push(...urlsOf(answer));
  }
  return seen.size;
}

describe.each([undefined, 'https://clinic.example/api'])(
  'every URL of an administrative answer, below %s',
  (baseUrl) => {
    const opened = openService(baseUrl === undefined ? {} : { baseUrl });
    const root = baseUrl === undefined ? 'https://clinic.example' : baseUrl;
    const fhir = baseUrl ?? 'https://clinic.example/fhir/R4';

    test('leads the administrator of the project on', async () => {
      const service = await opened;
      const members = `${root}/admin/projects/${service.project}/members`;
      const invited = await service.call('POST', `${root}/admin/projects/${service.project}/invite`, {
        body: person('Gina'),
      });
      expect(urlsOf(invited)).toHaveLength(1);
      expect(await follow(service, 'admin', invited)).toBe(1);
      for (const query of ['?_count=1', '?_count=2&_sort=-_lastUpdated&_format=json', '?name=gina', '']) {
        expect(await follow(service, 'admin', await service.call('GET', members + query))).toBeGreaterThan(1);
      }
      // Three members, each on a page of its own, and two pages on the way back.
      const pages = await service.call('GET', `${fhir}/ProjectMembership?_count=1`);
      expect(await follow(service, 'admin', pages)).toBe(8);
      const found = pages.body as Bundle<ProjectMembership>;
      expect(found.entry![0]!.fullUrl).toBe(`${fhir}/ProjectMembership/${found.entry![0]!.resource!.id}`);
    });

    test('leads a super administrator on, into other projects and into its own', async () => {
      const service = await opened;
      const created = await service.call('POST', `${fhir}/Project`, {
        as: 'operator',
        body: { resourceType: 'Project', name: 'Hillside' },
      });
      const { id } = created.body as Project;
      expect(created.headers.get('location')).toBe(`${root}/admin/projects/${id}`);
      expect(await follow(service, 'operator', created)).toBe(1);
      const read = await service.call('GET', created.headers.get('location')!, { as: 'operator' });
      expect(read.body).toEqual(created.body);

      const invited = await service.call('POST', `${root}/admin/projects/${id}/invite`, {
        as: 'operator',
        body: person('Otto'),
      });
      expect(invited.headers.get('content-location')).toBe(
        `${root}/admin/projects/${id}/members/${(invited.body as ProjectMembership).id}`,
      );
      expect(await follow(service, 'operator', invited)).toBe(1);

      // Operations, Clinic and Hillside: three pages, two on the way back, and three projects.
      const projects = await service.call('GET', `${root}/admin/projects?_count=1`, { as: 'operator' });
      expect(await follow(service, 'operator', projects)).toBe(8);
      const own = await service.call('GET', `${fhir}/ProjectMembership`, { as: 'operator' });
      const { project } = (own.body as Bundle<ProjectMembership>).entry![0]!.resource!;
      for (const one of [service.project, id!, project.reference!.split('/')[1]!]) {
        const page = await service.call('GET', `${root}/admin/projects/${one}/members?_count=1`, { as: 'operator' });
        expect((page.body as Bundle).entry).toHaveLength(1);
        expect(await follow(service, 'operator', page)).toBeGreaterThan(1);
      }
      expect(await follow(service, 'operator', own)).toBe(2);
    });
  },
);

test('a super administrator who may only create projects gets no URL that it cannot read', async () => {
  const service = await openService();
  const list = await service.call('GET', '/admin/projects?name=operations', { as: 'operator' });
  const home = (list.body as Bundle<Project>).entry![0]!.resource!.id!;
  const trusted = createRepository({ store: service.store, caller: systemCaller(home) });
  const memberWith = async (interaction: ('create' | 'search')[]): Promise<string> => {
    const policy: AccessPolicy = {
      resourceType: 'AccessPolicy',
      name: 'Founder',
      resource: [{ resourceType: 'Project', interaction }],
    };
    const access = [{ policy: { reference: `AccessPolicy/${(await trusted.create(policy)).id}` } }];
    const context = { store: service.store, caller: systemCaller(home) };
    const body = { ...person(`Fay ${interaction.join(' ')}`), membership: { access } };
    return (await invite(home, body as never, context)).membership.id!;
  };
  const answerOf = async (membership: string): Promise<Answer> => {
    const caller = await signIn(service.store, { membership });
    const response = await service.handler(
      new Request('https://clinic.example/fhir/R4/Project', {
        method: 'POST',
        headers: { 'content-type': 'application/fhir+json' },
        body: JSON.stringify({ resourceType: 'Project', name: 'New' }),
      }),
      { caller },
    );
    return { status: response.status, headers: response.headers, text: '', body: await response.json() };
  };
  const blind = await answerOf(await memberWith(['create']));
  expect([blind.status, urlsOf(blind)]).toEqual([201, []]);
  const seeing = await answerOf(await memberWith(['create', 'search']));
  expect([seeing.status, urlsOf(seeing).length]).toEqual([201, 1]);
});

test('a project is read by those who may list projects, and by its administrators', async () => {
  const service = await openService();
  const url = `/admin/projects/${service.project}`;
  expect((await service.call('GET', url, { as: 'operator' })).body).toMatchObject({ name: 'Clinic' });
  expect((await service.call('GET', '/admin/projects/none', { as: 'operator' })).status).toBe(404);
  const statuses = ['admin', 'nurse'].map(async (as) => (await service.call('GET', url, { as })).status);
  expect(await Promise.all(statuses)).toEqual([200, 403]);
  expect((await service.call('GET', '/admin/projects/none', { as: 'admin' })).status).toBe(403);
});
