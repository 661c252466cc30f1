import type { Bundle, Patient, ResourceType } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Caller,
  createRepository,
  executeFhirGraphql,
  importBundle,
  invite,
  type InviteBody,
  type Repository,
  searchMembers,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { outcomeOf } from '../fuzz/safe-outcome.js';
import { fill, plain, PROJECTS, type Json } from './world.js';

/** Texts that would do something if they were pasted into SQL. */
const SQL = [
  "' OR 1=1 --",
  "') OR ('1'='1",
  '" OR ""="',
  "x'; DROP TABLE resource; --",
  "'); DELETE FROM version; --",
  "x') UNION SELECT text FROM version --",
  's|',
  "'||(SELECT group_concat(sql) FROM sqlite_master)||'",
  "1; ATTACH DATABASE ':memory:' AS x",
  '?1',
  ':project',
  '@p0',
  '$1',
  "%' ESCAPE '%",
  '/* */',
  '\\',
  "\0'",
] as const;

/** Texts that would do something if they were evaluated. */
const FHIRPATH = [
  "name.where(family = 'Seen').given",
  '%resource.id',
  "iif(true, 'Seen', {})",
  '$this',
  "Patient.name.where(family = 'Seen')",
  "(1 | 2 | 3).select('Seen')",
] as const;

const SECRET = 'Verborgen';
let store: SqliteStore;
let caller: Caller;
let repository: Repository;

/** Of the second project nothing may ever come out. */
function contentOf(project: string): Parameters<typeof fill>[2] {
  const family = project === 'alpha' ? 'Seen' : SECRET;
  return [
    { resourceType: 'Patient', id: 'p1', name: [{ family, given: ['Jo'] }], identifier: [{ system: 's', value: 'v' }] },
    { resourceType: 'Patient', id: 'p2', name: [{ family }], birthDate: '1970-01-01' },
    { resourceType: 'ValueSet', id: 'v1', status: 'active', url: 'http://a' },
    {
      resourceType: 'Observation',
      id: 'o1',
      status: 'final',
      code: { coding: [{ system: 'http://loinc.org', code: 'a' }] },
      subject: { reference: 'Patient/p1' },
      valueQuantity: { value: 3, unit: 'kg' },
    },
  ].map((one) => plain(one as Json));
}

/** A value in search syntax, with its special characters escaped. */
function escaped(text: string): string {
  return encodeURIComponent(text.replace(/[\\,|$]/g, '\\$&'));
}

const ask = async (query: string, variables: Json = {}): Promise<unknown> => {
  const { data, errors } = await executeFhirGraphql(query, { store, caller, variables });
  return errors === undefined ? data : errors.map(({ extensions }) => extensions.code);
};
const search = async (type: ResourceType, query: string): Promise<unknown> => {
  const { entry = [] } = await repository.search(type, query);
  return entry.map(({ resource }) => resource!.id);
};

/** Places that ask for something by a text, which no resource has. None may find, or do, anything. */
const PLACES: { readonly [place: string]: (text: string) => unknown } = {
  'an id read': (text) => repository.read('Patient', text),
  'a type read': (text) => repository.read(text as 'Patient', 'p1'),
  'an id and a version read': (text) => repository.vread('Patient', 'p1', text),
  'an id in a history': (text) => repository.history('Patient', text),
  'an id updated': (text) => repository.update({ resourceType: 'Patient', id: text }),
  'a version that must match': (text) => repository.update({ resourceType: 'Patient', id: 'p1' }, { ifMatch: text }),
  'an id patched': (text) => repository.patch('Patient', text, [{ op: 'remove', path: '/name' }]),
  'a path patched': (text) => repository.patch('Patient', 'p1', [{ op: 'remove', path: `/${text}` }]),
  'an id deleted': (text) => repository.delete('Patient', text),
  'a string': (text) => search('Patient', `name:exact=${escaped(text)}`),
  'a part of a string': (text) => search('Patient', `family:contains=x${escaped(text)}`),
  'a code': (text) => search('Patient', `identifier=${escaped(text)}`),
  'a system': (text) => search('Patient', `identifier=${escaped(text)}|v`),
  'a text of a token': (text) => search('Observation', `code:text=x${escaped(text)}`),
  'a reference': (text) => search('Observation', `subject=${escaped(text)}`),
  'a typed reference': (text) => search('Observation', `subject=Patient/${escaped(text)}`),
  'a uri': (text) => search('ValueSet', `url=${escaped(text)}`),
  'a uri below': (text) => search('ValueSet', `url:below=${escaped(text)}`),
  'a unit': (text) => search('Observation', `value-quantity=3||${escaped(text)}`),
  'a date': (text) => search('Patient', `birthdate=${escaped(text)}`),
  'an id searched': (text) => search('Patient', `_id=${escaped(text)}`),
  'a tag': (text) => search('Patient', `_tag=${escaped(text)}`),
  'a compartment': (text) => search('Observation', `_compartment=Patient/${escaped(text)}`),
  'a parameter': (text) => search('Patient', `${encodeURIComponent(text)}=x`),
  'a modifier': (text) => search('Patient', `name:${encodeURIComponent(text)}=x`),
  'a chain': (text) => search('Observation', `subject:Patient.${encodeURIComponent(text)}=x`),
  'the end of a chain': (text) => search('Observation', `subject:Patient.name:exact=${escaped(text)}`),
  'a reverse chain': (text) => search('Patient', `_has:Observation:subject:code=${escaped(text)}`),
  'an order': (text) => search('Patient', `_sort=${encodeURIComponent(text)}`),
  'a value of _filter': (text) =>
    search('Patient', `_filter=${encodeURIComponent(`family eq ${JSON.stringify(text)}`)}`),
  'a parameter of _filter': (text) => search('Patient', `_filter=${encodeURIComponent(`${text} eq "x"`)}`),
  'a whole _filter': (text) => search('Patient', `_filter=${encodeURIComponent(`${text} (`)}`),
  'an argument of a query': (text) =>
    ask('query ($t: [String]) { PatientList(name: $t) { id } }', { t: escapedText(`x${text}`) }),
  'an id of a query': (text) => ask('query ($t: ID!) { Patient(id: $t) { id } }', { t: text }),
  'a literal of a query': (text) => ask(`{ PatientList(identifier: ${JSON.stringify(escapedText(text))}) { id } }`),
  'a filter of elements': (text) =>
    ask('query ($t: String) { PatientList { name(family: $t) { family } } }', { t: text }),
  'a cursor': (text) => ask('query ($t: String) { PatientConnection(cursor: $t) { count } }', { t: text }),
  'an order of a query': (text) => ask('query ($t: String) { PatientList(_sort: $t) { id } }', { t: text }),
  'a _filter of a query': (text) =>
    ask('query ($t: String) { PatientList(_filter: $t) { id } }', { t: `name eq ${JSON.stringify(text)}` }),
  'a condition of a creation': (text) =>
    repository.create({ resourceType: 'Patient', id: 'no' }, { ifNoneExist: `${encodeURIComponent(text)}=1` }),
  'a URL in a Bundle': (text) => importBundle(bundleOf({ method: 'PUT', url: `Patient/${text}` }), { store, caller }),
  'a condition in a Bundle': (text) =>
    importBundle(bundleOf({ method: 'DELETE', url: `Patient?_id=${escaped(text)}` }), { store, caller }),
  'a membership': (text) => signIn(store, { membership: text }),
  'a project to sign in to': (text) => signIn(store, { project: text, user: 'User/u' }),
  'a user who signs in': (text) => signIn(store, { project: 'alpha', user: text }),
  'a project': (text) => createRepository({ store, caller: systemCaller(text) }).search('Patient', {}),
  'a project of an invite': (text) =>
    invite(
      text,
      { resourceType: 'Practitioner', firstName: 'A', lastName: 'B', email: 'a@b.example' },
      { store, caller },
    ),
  'an e-mail of an invite': (text) => tryInvite({ email: text }),
  'a local part of an e-mail': (text) => tryInvite({ email: `${text.replace(/[\s\0]/g, '')}@b.example` }),
  'an external id of an invite': (text) => tryInvite({ externalId: text }),
  'a name of an invite': (text) => tryInvite({ firstName: text, email: 'a@b.example' }),
  'a profile of an invite': (text) =>
    tryInvite({ email: 'a@b.example', membership: { profile: `Practitioner/${text}` } }),
  'a policy of an invite': (text) =>
    tryInvite({ email: 'a@b.example', membership: { accessPolicy: { reference: `AccessPolicy/${text}` } } }),
  'a search of members': (text) => searchMembers('alpha', `user=${escaped(text)}`, { store, caller }),
};

function escapedText(text: string): string {
  return text.replace(/[\\,|$]/g, '\\$&');
}

function tryInvite(some: Partial<InviteBody>): Promise<unknown> {
  const body = { resourceType: 'Practitioner', firstName: 'A', lastName: 'B', ...some, dryRun: true } as const;
  return invite('alpha', body, { store, caller });
}

function bundleOf(request: { readonly method: string; readonly url: string }): Bundle {
  const resource = request.method === 'PUT' ? { resourceType: 'Patient', id: 'x' } : undefined;
  return { resourceType: 'Bundle', type: 'transaction', entry: [{ resource, request }] } as Bundle;
}

/** Everything in the database but the numbers of pages. */
async function everything(): Promise<string> {
  const counts: unknown[] = [];
  for (const project of PROJECTS) {
    const trusted = createRepository({ store, caller: systemCaller(project) });
    for (const type of ['Project', 'User', 'Patient', 'Observation', 'ValueSet'] as const) {
      const { entry } = await trusted.search(type, {});
      counts.push(entry?.map(({ resource }) => resource));
    }
  }
  return JSON.stringify(counts);
}

describe.each([
  ['SQL', SQL],
  ['FHIRPath', FHIRPATH],
])('%s is text', (_, texts) => {
  // One store for all: each test shows at its end that all is there as before.
  beforeAll(async () => {
    store = new SqliteStore(':memory:');
    for (const project of PROJECTS) await fill(store, project, contentOf(project));
    caller = systemCaller('alpha');
    repository = createRepository({ store, caller });
    return () => store.close();
  });

  test.each(Object.entries(PLACES))('as %s', async (place, send) => {
    const before = await everything();
    for (const text of texts) {
      const answer = JSON.stringify(await outcomeOf(() => send(text) as Promise<unknown>)) ?? 'nothing';
      const outcome = answer.replaceAll(JSON.stringify(text).slice(1, -1), 'TEXT');
      expect(outcome, `${place}: ${text}`).not.toContain(SECRET);
      expect(outcome, `${place}: ${text}`).not.toMatch(/"p[12]"|"o1"|"v1"|Seen/);
    }
    expect(await everything()).toBe(before);
    expect(await store.verify()).toMatchObject({ problems: [] });
  });

  test('if stored, and is found again exactly', async () => {
    for (const text of texts.filter((one) => !one.includes('\0'))) {
      const made = await repository.create<Patient>({
        resourceType: 'Patient',
        name: [{ family: text, given: [text] }],
        identifier: [{ system: `urn:${text}`, value: text }],
        generalPractitioner: [{ reference: `http://elsewhere/${text}` }],
      });
      expect(await search('Patient', `family:exact=${escaped(text)}`)).toEqual([made.id]);
      expect(await search('Patient', `identifier=${escaped(`urn:${text}`)}|${escaped(text)}`)).toEqual([made.id]);
      expect(await ask('query ($t: String) { PatientList(identifier: $t) { id name(family: $t) { family } } }', { t: escapedText(text) })).toMatchObject({ PatientList: [{ id: made.id }] }); // prettier-ignore
      expect((await repository.read('Patient', made.id)).name).toEqual([{ family: text, given: [text] }]);
      await repository.delete('Patient', made.id);
    }
    expect(await store.verify()).toMatchObject({ problems: [] });
  });

  test('as a value of a policy', async () => {
    for (const text of texts) {
      await fill(store, 'alpha', [
        plain({ resourceType: 'Practitioner', id: 'dr1', name: [{ family: 'Seen' }] }),
        plain({ resourceType: 'User', id: 'u', firstName: 'A', lastName: 'B' }),
        plain({
          resourceType: 'AccessPolicy',
          id: 'policy',
          name: 'policy',
          resource: [
            { resourceType: 'Patient', criteria: 'Patient?family=%value' },
            { resourceType: 'Observation', criteria: 'Observation?_filter=code eq %value' },
          ],
        }),
        plain({
          resourceType: 'ProjectMembership',
          id: 'member',
          project: { reference: 'Project/alpha' },
          user: { reference: 'User/u' },
          profile: { reference: 'Practitioner/dr1' },
          access: [
            { policy: { reference: 'AccessPolicy/policy' }, parameter: [{ name: 'value', valueString: `x${text}` }] },
          ],
        }),
      ]);
      const member = createRepository({ store, caller: await signIn(store, { membership: 'member' }) });
      expect((await member.search('Patient', {})).entry ?? []).toEqual([]);
      expect((await member.search('Observation', {})).entry ?? []).toEqual([]);
    }
  });
});
