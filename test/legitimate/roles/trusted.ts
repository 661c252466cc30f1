import type { Role } from '../operation.js';

const patient = (id: string, more: object = {}): { resourceType: string; id: string } => ({
  resourceType: 'Patient',
  id,
  ...more,
});

/** The host's own code in one project. */
export const TRUSTED: Role = {
  role: 'trusted code of the host',
  who: 'system',
  operations: [
    [
      'imports lines with its own ids',
      { ndjson: [patient('x1'), patient('x2', { gender: 'female' })] },
      { created: 2, updated: 0, unchanged: 0, failed: 0 },
    ],
    [
      'imports them again',
      { ndjson: [patient('x1'), patient('x2', { gender: 'male' })] },
      { created: 0, updated: 1, unchanged: 1, failed: 0 },
    ],
    [
      'imports what refers to them',
      {
        ndjson: [
          {
            resourceType: 'Observation',
            id: 'x3',
            status: 'final',
            code: { text: 'x' },
            subject: { reference: 'Patient/x1' },
          },
        ],
      },
      { created: 1, updated: 0, unchanged: 0, failed: 0 },
    ],
    [
      'imports policies',
      {
        ndjson: [
          { resourceType: 'AccessPolicy', id: 'imported', resource: [{ resourceType: 'Patient', readonly: true }] },
        ],
      },
      { created: 1, updated: 0, unchanged: 0, failed: 0 },
    ],
    [
      'imports a transaction with ids of its own',
      {
        bundle: 'transaction',
        entries: [
          { method: 'PUT', url: 'Patient/x4', resource: patient('x4') },
          { method: 'POST', url: 'Patient', resource: patient('x5') },
          { method: 'DELETE', url: 'Patient/x1' },
        ],
      },
      { created: 2, updated: 0, deleted: 1, unchanged: 0, failed: 0 },
    ],
    ['finds a POST under the id it brought', { read: 'Patient/x5' }, { id: 'x5' }],
    [
      'restores what was deleted',
      { update: patient('x1', { active: true }) },
      { active: true, meta: { versionId: '3' } },
    ],
    ['reads all of a history', { history: 'Patient/x1' }, ['3', 'DELETE', '1']],
    ['searches', { search: 'Patient?_id=x1,x2,x4,x5&gender=male' }, ['x2']],
    [
      'searches by criteria',
      { type: 'Patient', criteria: { criteria: { kind: 'id', ids: ['x2', 'x4', 'nobody'] } } },
      ['x2', 'x4'],
    ],
    ['creates', { create: { resourceType: 'Basic', code: { text: 'x' } }, as: 'basic' }, { resourceType: 'Basic' }],
    [
      'patches',
      { patch: 'Basic/@{basic.id}', operations: [{ op: 'add', path: '/created', value: '2024-01-01' }] },
      { created: '2024-01-01' },
    ],
    ['deletes', { remove: 'Basic/@{basic.id}' }, 'gone'],
    [
      'invites',
      {
        invite: { resourceType: 'Practitioner', firstName: 'Sam', lastName: 'Test', email: 'sam@example.org' },
        as: 'sam',
      },
      ['user profile membership', 'sent'],
    ],
    [
      'imports a policy that a member gets',
      { member: '@{sam.membership}', changes: { accessPolicy: { reference: 'AccessPolicy/imported' } } },
      { active: true },
    ],
    ['finds members', { members: 'name=sam' }, ['Sam Test']],
    [
      'finds members by _filter',
      { members: '_filter=active eq true and profile-type eq Practitioner' },
      ['Bo Boss', 'Sam Test'],
    ],
    ['deactivates a member', { member: '@{sam.membership}', changes: { active: false } }, { active: false }],
    ['removes a member', { dismiss: '@{sam.membership}' }, 'membership-missing'],
    ['makes a client', { newClient: { name: 'Feed' }, as: 'feed' }, { name: 'Feed' }],
    ['rotates a lost secret', { rotate: '@{feed.client}' }, true],
    ['makes a bot', { newBot: { name: 'Job' } }, { name: 'Job' }],
    [
      'stores an AuditEvent',
      {
        create: {
          resourceType: 'AuditEvent',
          type: { code: 'rest' },
          recorded: '2024-01-01T00:00:00Z',
          agent: [{ requestor: true }],
          source: { observer: { display: 'x' } },
        },
      },
      { resourceType: 'AuditEvent' },
    ],
    [
      'asks by GraphQL',
      { graphql: '{ Patient(id: x4) { id } PatientList(gender: "other") { id } }' },
      { Patient: { id: 'x4' }, PatientList: [] },
    ],
    ['reads the project', { read: 'Project/@{clinic.id}' }, { name: 'Clinic' }],
    [
      'changes its settings',
      { edit: 'Project/@{clinic.id}', set: { description: 'A clinic' } },
      { description: 'A clinic' },
    ],
    [
      'works in a batch',
      {
        transaction: 'batch',
        entries: [
          { method: 'GET', url: 'Patient?gender=male&_summary=count' },
          { method: 'PUT', url: 'Patient/x6', resource: patient('x6') },
        ],
      },
      ['200', '201'],
    ],
  ],
};
