import type { Bundle, Patient } from '@medplum/fhirtypes';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  createRepository,
  executeFhirGraphql,
  importBundle,
  importNdjson,
  invite,
  MemoryStore,
  type Repository,
  type ResourceStore,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { normalizeEmail } from '../../src/access/write/stamp.js';
import { outcomeOf } from '../fuzz/safe-outcome.js';
import { fill, plain } from './world.js';

const caller = systemCaller('alpha');
const STORES: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
];

describe.each(STORES)('e-mails on a %s store', (_, open) => {
  let store: ResourceStore;
  beforeEach(async () => {
    store = open();
    await fill(store, 'alpha', []);
    await fill(store, 'beta', []);
  });

  const userOf = async (email: string, project = 'alpha'): Promise<string> => {
    const body = { resourceType: 'Practitioner', firstName: 'A', lastName: 'B', email, upsert: true } as const;
    const { user } = await invite(project, body, { store, caller: systemCaller(project) });
    return user.id;
  };

  test.each([
    ['case', ['ann@example.org', 'ANN@example.org', 'Ann@Example.ORG']],
    [
      'composition',
      ['jos\u00e9@example.org', 'jose\u0301@example.org', 'JOSE\u0301@example.org', 'JOS\u00c9@EXAMPLE.ORG'],
    ],
    ['compatible letters', ['\u00e5ke@example.org', '\u212bke@example.org', 'A\u030ake@example.org']],
    ['the sign of kelvin', ['kim@example.org', '\u212aim@example.org']],
    ['full width', ['ann@example.org', '\uff21\uff4e\uff4e\uff20example.org']],
    ['Hangul', ['\uac00@example.org', '\u1100\u1161@example.org']],
    ['two marks in either order', ['q\u0307\u0323@example.org', 'q\u0323\u0307@example.org']],
    ['blanks around', ['ann@example.org', '  ann@example.org\t']],
    ['sigma at the end of a word', ['\u03bf\u03b4\u03cc\u03c2@example.org', '\u039f\u0394\u038c\u03a3@example.org']],
  ])('that differ in %s belong to one User, in every project', async (_, emails) => {
    const [first, ...others] = emails as [string, ...string[]];
    const user = await userOf(first);
    for (const email of others) {
      expect(await userOf(email)).toBe(user);
      expect(await userOf(email, 'beta')).toBe(user);
    }
  });

  // Other letters are other mailboxes, even letters that look alike or were once equivalent.
  test.each([
    ['sharp s', 'stra\u00dfe@example.org', 'strasse@example.org'],
    ['dotless i', 'm\u0131ke@example.org', 'mike@example.org'],
    ['Cyrillic a', '\u0430nn@example.org', 'ann@example.org'],
    ['an accent', 'jos\u00e9@example.org', 'jose@example.org'],
    ['a dot', 'a.nn@example.org', 'ann@example.org'],
  ])('with %s belong to different Users', async (_, one, other) => {
    expect(await userOf(one)).not.toBe(await userOf(other));
  });

  test.each([
    'a\u202enn@example.org',
    'a\u200bnn@example.org',
    'ann\ufeff@example.org',
    'ann@exam\u00adple.org',
    'a\0nn@example.org',
    'ann\u2028@example.org',
  ])('%j with invisible characters is refused', async (email) => {
    expect(await outcomeOf(() => userOf(email))).toEqual({ code: 'invalid' });
  });
});

test('the normal form of an e-mail is its own normal form, and that of its other spellings, for every character', () => {
  const bad: string[] = [];
  for (let code = 0x21; code <= 0x1ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const email = `a${String.fromCodePoint(code)}b@example.org`;
    const form = normalizeEmail(email);
    const spellings = [
      form,
      email.normalize('NFD'),
      email.normalize('NFC'),
      email.normalize('NFKD'),
      email.toLowerCase(),
    ];
    if (spellings.some((one) => normalizeEmail(one) !== form)) bad.push(code.toString(16));
  }
  // The lunate sigma: its lower case is compatible with the final sigma, its upper case with the other sigma.
  expect(bad).toEqual(['3f9']);
});

/** Outside of https://hl7.org/fhir/R4/datatypes.html#id, some of them only just. */
const NO_IDS = [
  '',
  ' ',
  'a b',
  'a\n',
  '\na',
  'a\0',
  'a_b',
  'a/b',
  '../a',
  'a?b',
  'a#b',
  'a%20b',
  '\u00e9',
  'e\u0301',
  '\uff41',
  '\u0430',
  '\ud800',
  '\u{1d41a}',
  'a\u200b',
  '\u0661',
  'a'.repeat(65),
];

describe.each(STORES)('ids on a %s store', (_, open) => {
  let store: ResourceStore;
  let repository: Repository;
  beforeEach(async () => {
    store = open();
    await fill(store, 'alpha', [plain({ resourceType: 'Patient', id: 'a' })]);
    repository = createRepository({ store, caller });
  });

  test.each(NO_IDS)('%j is not an id', async (id) => {
    const resource: Patient = { resourceType: 'Patient', id };
    const put = { resource, request: { method: 'PUT', url: `Patient/${id}` } };
    const bundle = { resourceType: 'Bundle', type: 'transaction', entry: [put] } as Bundle;
    expect(await outcomeOf(() => repository.update(resource))).toEqual({ code: 'invalid' });
    expect(await outcomeOf(() => importBundle(bundle, { store, caller }))).toEqual({ code: 'invalid' });
    const posted = { ...bundle, entry: [{ resource, request: { method: 'POST', url: 'Patient' } }] } as Bundle;
    expect(await outcomeOf(() => importBundle(posted, { store, caller }))).toEqual({ code: 'invalid' });
    const { errors } = await importNdjson(JSON.stringify(resource), { store, caller });
    expect(errors).toHaveLength(1);
    const query = 'mutation ($id: ID!) { PatientUpdate(id: $id, res: { id: $id }) { id } }';
    expect((await executeFhirGraphql(query, { store, caller, variables: { id } })).errors).toHaveLength(1);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => repository.read('Patient', id),
      () => repository.vread('Patient', id, '1'),
      () => repository.history('Patient', id),
      () => repository.patch('Patient', id, []),
      () => signIn(store, { membership: id }),
      () => signIn(store, { project: 'alpha', user: id }),
    ];
    for (const call of calls) {
      expect(await outcomeOf(call)).toMatchObject({
        code: expect.stringMatching(/^(invalid|not-found|membership-missing|unauthenticated)$/) as string,
      });
    }
    expect((await repository.search('Patient', {})).entry).toHaveLength(1);
  });

  test.each(['a', 'A', '0', '-', '.', 'a'.repeat(64), '...', 'A-z.0'])('%j is an id', async (id) => {
    const { id: kept } = await repository.update<Patient>({ resourceType: 'Patient', id });
    expect(kept).toBe(id);
    expect((await repository.read('Patient', id)).id).toBe(id);
  });

  test('that differ in case are two ids', async () => {
    await repository.update<Patient>({ resourceType: 'Patient', id: 'A', active: true });
    expect([(await repository.read('Patient', 'a')).active, (await repository.read('Patient', 'A')).active]).toEqual([
      undefined,
      true,
    ]);
  });
});
