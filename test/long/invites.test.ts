import type { ProjectMembership, User } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import {
  type Caller,
  createProject,
  FhirError,
  initialize,
  invite,
  type InviteBody,
  MemoryStore,
  type ResourceStore,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { SEED } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';

const fileNamed = temporaryFolder();
const tally = tallyOf('invites racing for few e-mails');
const PEOPLE = ['ann', 'ben', 'cem', 'dia'] as const;

/** One in three connections to the same content, at random. */
type Connect = (random: () => number) => ResourceStore;

const STORES: readonly [name: string, open: (round: number) => Connect][] = [
  [
    'memory',
    () => {
      const store = new MemoryStore();
      return () => store;
    },
  ],
  [
    'SQLite through three connections',
    (round) => {
      const file = fileNamed(`${round}.db`);
      const connections = [1, 2, 3].map(() => new SqliteStore(file, { synchronous: 'off' }));
      return (random) => oneOf(connections, random);
    },
  ],
];

test.each(STORES)(
  'a person gets one User per scope, one profile and one membership per project, on %s',
  async (_, open) => {
    for (let round = 0; round < 20; round++) {
      const random = createRandom(SEED + round);
      const connect = open(round);
      const { caller } = await initialize(connect(random));
      const projects: string[] = [];
      for (const name of ['one', 'two']) {
        const { id } = await createProject({ resourceType: 'Project', name }, { store: connect(random), caller });
        projects.push(id);
      }
      await tally.trial(async () => {
        const sent = Array.from({ length: 80 }, () =>
          send(connect(random), oneOf(projects, random), caller, bodyOf(random)),
        );
        const refused = (await Promise.all(sent)).filter((code) => code !== undefined);
        tally.addFaults(refused.length);
        expect(new Set(refused)).toEqual(new Set(['conflict']));
        await assertOneOfEach(connect(random), projects);
      });
    }
  },
);

/** Neither `forceNewMembership` nor another profile: those people can have several. */
function bodyOf(random: () => number): InviteBody {
  const name = oneOf(PEOPLE, random);
  const written = oneOf([name, name.toUpperCase(), ` ${name}`], random);
  return {
    resourceType: oneOf(['Practitioner', 'Patient'], random),
    firstName: name,
    lastName: 'Lee',
    email: `${written}@example.org`,
    scope: oneOf(['server', 'project'], random),
    upsert: below(2, random) === 0,
    sendEmail: false,
  };
}

/** @returns the code of the error, undefined for none */
async function send(
  store: ResourceStore,
  project: string,
  caller: Caller,
  body: InviteBody,
): Promise<string | undefined> {
  try {
    await invite(project, body, { store, caller });
    return undefined;
  } catch (error) {
    if (error instanceof FhirError) return error.code;
    throw error;
  }
}

async function assertOneOfEach(store: ResourceStore, projects: readonly string[]): Promise<void> {
  const all = async <Type>(project: string, type: string): Promise<readonly Type[]> =>
    (await store.search({ project, type, criteria: ALL })).matches.map(({ resource }) => resource as Type);
  const users = (await all<User>('', 'User')).filter(({ email }) => email !== undefined);
  const emails = new Map(users.map(({ id, email }) => [`User/${id!}`, email!]));
  const scopes = users.map(({ email, project }) => `${project?.reference ?? 'server'} ${email!}`);
  expect(scopes.toSorted()).toEqual([...new Set(scopes)].toSorted());
  const used = new Set<string>();
  for (const project of projects) {
    const memberships = (await all<ProjectMembership>(project, 'ProjectMembership')).filter(({ user }) =>
      emails.has(user.reference!),
    );
    const members = memberships.map(({ user }) => emails.get(user.reference!)!);
    expect(members.toSorted()).toEqual(PEOPLE.map((name) => `${name}@example.org`));
    const profiles = memberships.map(({ profile }) => profile.reference!);
    expect(new Set(profiles).size).toBe(profiles.length);
    const made = [
      ...(await all<{ id: string }>(project, 'Patient')),
      ...(await all<{ id: string }>(project, 'Practitioner')),
    ];
    expect(made).toHaveLength(profiles.length);
    memberships.forEach(({ user }) => used.add(user.reference!));
  }
  // Later invites leave no User without a membership.
  expect(used.size).toBe(users.length);
}
