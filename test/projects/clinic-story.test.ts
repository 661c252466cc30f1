import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type StoryResult, tellStory } from '../../examples/clinic/story.js';
import { type ResourceStore, signIn } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { IS_WHOLE, someOf } from '../support/chance.js';
import { LOADER } from '../support/load-typescript.js';
import { contents, countOf, stores } from './harness.js';

const people = (names: readonly string[]): object[] =>
  names.map((text) => ({
    name: [{ text }],
    ObservationList: [{ code: { text: 'Body weight' } }, { code: { text: 'Heart rate' } }],
  }));

const ALL_STORES: readonly (readonly [name: string, make: () => ResourceStore | Promise<ResourceStore>])[] = [
  ...stores,
  ['PostgreSQL', async () => new PostgresStore(await postgresPool())],
];

describe.each(someOf(ALL_STORES, stores.length))('the story of a clinic on %s', (_name, makeStore) => {
  test('works as the service document describes it', async () => {
    const store = await makeStore();
    const lines: string[] = [];
    const story: StoryResult = await tellStory(store, (line) => lines.push(line));
    expect(lines.length).toBeGreaterThan(10);

    // Everybody sees exactly what the membership allows.
    const organizations = (...names: string[]): object[] => names.map((name) => ({ name }));
    expect(story.views).toEqual({
      administrator: {
        PatientList: people(['Cleo Brook', 'Eva Field', 'Fay Moor']),
        OrganizationList: organizations('North', 'South', 'West'),
      },
      practitioner: {
        PatientList: people(['Cleo Brook', 'Eva Field']),
        OrganizationList: organizations('North', 'South'),
      },
      patient: { PatientList: people(['Cleo Brook']), OrganizationList: [] },
      relatedPerson: { PatientList: people(['Cleo Brook']), OrganizationList: [] },
    });

    expect(story.members).toEqual({
      '': ['Ada Stone', 'Ben Hill', 'Cleo Brook', 'Dan Brook', 'Laboratory feed'],
      'profile-type:not=ClientApplication,Bot': ['Ada Stone', 'Ben Hill', 'Cleo Brook', 'Dan Brook'],
      'profile-type=Patient': ['Cleo Brook'],
      'profile-type=Practitioner': ['Ada Stone', 'Ben Hill'],
    });

    // A removed person returns as the same person.
    const { practitioner, invitedAgain } = story;
    expect(invitedAgain.created).toEqual({ user: false, profile: false, membership: true });
    expect(invitedAgain.profile.id).toBe(practitioner.profile.id);
    expect(invitedAgain.membership.access).toEqual(practitioner.membership.access);
    await expect(signIn(store, { membership: practitioner.membership.id })).rejects.toMatchObject({
      code: 'membership-missing',
    });
    expect((await signIn(store, { membership: invitedAgain.membership.id })).profile).toBe(
      `Practitioner/${practitioner.profile.id}`,
    );

    expect(story.patient.created).toEqual({ user: true, profile: false, membership: true });
    expect(story.invitations.map(({ to, isNewUser }) => [to, isNewUser])).toEqual([
      ['ada@example.org', true],
      ['ben@example.org', true],
      ['cleo@example.org', true],
      ['dan@example.org', true],
      ['ben@example.org', false],
    ]);
    expect(await countOf(store, '', 'User')).toBe(4);
    expect(await countOf(store, story.project, 'ProjectMembership')).toBe(5);
    expect((await contents(store, story.project)).size).toBeGreaterThan(20);
  });
});

test.runIf(IS_WHOLE)('the example runs', async () => {
  const root = join(import.meta.dirname, '../..');
  const command = ['--import', LOADER, 'examples/clinic.ts'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { cwd: root });
  expect(stderr).toBe('');
  expect(stdout).toContain('The practitioner sees Cleo Brook (2), Eva Field (2); organizations: North, South.');
  expect(stdout).toContain('Invited again; made anew: User false, profile false, membership true.');
});
