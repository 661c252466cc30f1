import type { AuditEvent } from '@medplum/fhirtypes';
import { expect } from 'vitest';
import {
  acceptInvitation,
  AUDIT_LOG_PROJECT,
  type AuditHead,
  type AuditJournal,
  breakGlass,
  createAuditLog,
  createRepository,
  deleteProject,
  erasePatient,
  executeFhirGraphql,
  invite,
  type ResourceStore,
  revokeSessions,
  searchAuditLog,
  serverCaller,
  signIn,
  systemCaller,
  verifyAuditLog,
} from '../../src/index.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { keepingMailer, openClinic, person, rejection } from '../projects/harness.js';

/** A word of the content that is erased. */
export const MARK = 'Zyzzyvason';

/** An event, as an inspector reads it. */
function lineOf({ subtype, agent, purposeOfEvent, entity = [], outcome }: AuditEvent): string {
  const what = subtype?.[0]?.display ?? subtype?.[0]?.code;
  const who = agent[0]?.who?.reference?.split('/')[0] ?? agent[0]?.altId;
  const patients = entity.flatMap(({ what: target, role }) => (role?.code === '1' ? target?.reference : []));
  const why = purposeOfEvent?.map(({ text, coding }) => text ?? coding?.[0]?.code).join(', ');
  return [what, who, outcome, ...patients, ...(why === undefined ? [] : [`because ${why}`])].join(' ');
}

/** How the story runs. */
export interface InspectionOptions {
  /** Closed at the end. Without a journal, the store accepts the records. */
  readonly journal: (AuditJournal & { close(): void }) | undefined;
  /** Asserts that no byte of the erased content remains. */
  assertGone(): void | Promise<void>;
}

/**
 * The story of an inspection: invite, accept, read by GraphQL, break the glass, revoke, erase, delete. Then the audit alone
 * shows who saw which patient, when and why, and detects an altered or missing record.
 */
export async function inspect(store: ResourceStore, options: InspectionOptions): Promise<void> {
  const begin = new Date().toISOString();
  const heads: AuditHead[] = [];
  const { journal } = options;
  const log = createAuditLog({ store, gather: 0, journal, onHead: (head) => void heads.push(head) });
  const { audit } = log;
  const trail = { audit, requireAudit: true } as const;
  const { project, admin, superAdmin } = await openClinic(store);
  const trusted = createRepository({ store, caller: systemCaller(project) });
  const ann = await trusted.create({ resourceType: 'Patient', name: [{ family: MARK }] });
  const bob = await trusted.create({ resourceType: 'Patient', name: [{ family: 'Hill' }] });
  const subject = { reference: `Patient/${ann.id}` };
  await trusted.create({ resourceType: 'Observation', status: 'final', code: { text: MARK }, subject });
  const own = [
    { resourceType: 'Patient', criteria: `Patient?_id=${bob.id}`, readonly: true },
    { resourceType: 'AuditEvent', readonly: true },
  ];
  const usual = await trusted.create({ resourceType: 'AccessPolicy', name: 'Own patients', resource: own });
  const emergency = await trusted.create({
    ...{ resourceType: 'AccessPolicy', name: 'Emergency', resource: [{ resourceType: 'Patient', readonly: true }] },
    extension: [{ url: OWN_EXTENSIONS.emergencyAccess, valueBoolean: true }],
  } as never);

  // Invite and accept.
  const mailer = keepingMailer();
  const access = [usual, emergency].map(({ id }) => ({ policy: { reference: `AccessPolicy/${id}` } }));
  const { membership } = await invite(project, person('Practitioner', 'Ben', { membership: { access } }), {
    store,
    caller: admin,
    mailer,
    acceptance: { url: 'https://app.example/accept?token={token}' },
    ...trail,
  });
  const token = new URL(mailer.sent[0]!.acceptance!.url).searchParams.get('token')!;
  const identity = { externalId: 'idp|ben', email: 'ben@example.org', emailVerified: true };
  await acceptInvitation(token, identity, { store, ...trail });

  // Read by GraphQL, break the glass.
  const signedIn = { ...trail, purpose: 'TREAT', recheckAfter: 0 };
  const ben = await signIn(store, { project, externalId: 'idp|ben' }, signedIn);
  const query = '{ PatientList { id ObservationList(_reference: subject) { id } } }';
  await executeFhirGraphql(query, { store, caller: ben, ...trail });
  const until = new Date(Date.now() + 86_400_000);
  const broken = await breakGlass(ben, { store, reason: 'Unconscious', until, audit });
  await executeFhirGraphql(query, { store, caller: broken, ...trail });
  await rejection(signIn(store, { project, externalId: 'idp|eve' }, trail));

  // Revoke: Ben's access ends at once. Erase.
  await revokeSessions({ membership: `ProjectMembership/${membership.id}` }, { store, caller: admin, ...trail });
  for (const ended of [ben, broken]) {
    const { data, errors } = await executeFhirGraphql(query, { store, caller: ended, ...trail });
    expect([data?.['PatientList'], errors?.[0]?.extensions.code]).toEqual([null, 'session-ended']);
  }
  await erasePatient(ann.id, { store, caller: systemCaller(project), reason: 'patient-request', ...trail });
  await options.assertGone();
  expect((await rejection(trusted.read('Patient', ann.id))).code).toBe('gone');
  const asked = createRepository({ store, caller: systemCaller(project), ...trail });
  await rejection(asked.read('Patient', ann.id));
  await log.flush();

  // Who saw Ann, when and why: found before and after the project is deleted.
  const { entry: found = [] } = await searchAuditLog(`patient=Patient/${ann.id}&_sort=date`, {
    store,
    caller: systemCaller(project),
  });
  const seen = [
    `graphql Practitioner 0 ${[ann, bob]
      .map(({ id }) => `Patient/${id}`)
      .sort()
      .join(' ')} because TREAT, Unconscious`,
    `erase-patient system 0 Patient/${ann.id} because patient-request`,
    `read system 4 Patient/${ann.id}`,
  ];
  const sorted = (line: string): string => line.split(' ').sort().join(' ');
  expect(found.map(({ resource }) => sorted(lineOf(resource!)))).toEqual(seen.map(sorted));
  await deleteProject(project, { name: 'Clinic' }, { store, caller: superAdmin, ...trail });
  await log.close();
  journal?.close();

  const inspector = createRepository({ store, caller: serverCaller(AUDIT_LOG_PROJECT) });
  const { entry = [] } = await inspector.search('AuditEvent', '_sort=_id&_count=100');
  const events = entry.map(({ resource }) => resource as AuditEvent);
  expect(events.map(({ subtype }) => subtype?.[0]?.display ?? subtype?.[0]?.code)).toEqual([
    'segment-opened',
    ...['invite', 'accept-invitation', 'Login', 'graphql', 'Emergency Override Started', 'graphql', 'Login'],
    ...['revoke-sessions', 'graphql', 'graphql', 'erase-patient', 'read', 'delete-project', 'segment-closed'],
  ]);
  expect(lineOf(events[4]!)).toBe(`graphql Practitioner 0 Patient/${bob.id} because TREAT`);
  expect(lineOf(events[5]!)).toBe('Emergency Override Started Practitioner 0 because TREAT, Unconscious');
  expect(events[7]!.outcome).toBe('4');

  // When: in the order of the interactions, and during them. An interaction is recorded when it ends.
  const times = events.slice(1).map(({ recorded }) => recorded);
  expect(times).toEqual(times.toSorted());
  expect(times[0]! >= begin && times.at(-1)! <= new Date().toISOString()).toBe(true);

  // The log is complete, and an altered or missing record is detected.
  expect(await verifyAuditLog({ store, heads })).toMatchObject({ intact: true, events: 15 });
  const key = { project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: events[6]!.id! };
  await store.commit([{ kind: 'put', key, resource: { ...events[6], entity: [] } as never }]);
  expect((await verifyAuditLog({ store })).problems).toMatchObject([{ kind: 'changed', event: key.id }]);
  await store.commit([{ kind: 'delete', key }]);
  expect((await verifyAuditLog({ store })).problems).toMatchObject([{ kind: 'gap', event: events[7]!.id }]);
  const last = { project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: events.at(-1)!.id! };
  await store.commit([{ kind: 'delete', key: last }]);
  expect((await verifyAuditLog({ store, heads: heads.slice(-1) })).problems).toMatchObject([
    { kind: 'gap', event: events[7]!.id },
    { kind: 'cut', event: last.id },
  ]);
}
