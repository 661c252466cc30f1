import type { Role } from '../operation.js';

/** A program with access to the whole project, without a policy. */
export const PROGRAM: Role = {
  role: 'a ClientApplication without a policy',
  who: { as: 'ClientApplication' },
  operations: [
    ['lists patients', { search: 'Patient?_count=2' }, ['ann', 'bob']],
    ['pages on', { search: 'Patient?_count=2&_offset=2' }, ['cal', 'dan']],
    [
      'exports by connection',
      { graphql: '{ ObservationConnection(_count: 2) { count edges { resource { id } } } }' },
      {
        ObservationConnection: {
          count: 5,
          edges: [{ resource: { id: 'ann-glucose' } }, { resource: { id: 'ann-w1' } }],
        },
      },
    ],
    [
      'writes a batch',
      {
        transaction: 'batch',
        entries: [
          { method: 'PUT', url: 'Patient/synced', resource: { resourceType: 'Patient', id: 'synced' } },
          { method: 'PUT', url: 'Patient/synced', resource: { resourceType: 'Patient', id: 'synced', active: true } },
        ],
      },
      ['201', '200'],
    ],
    [
      'imports lines under ids of another system',
      {
        ndjson: [
          { resourceType: 'Patient', id: 'legacy-1' },
          { resourceType: 'Patient', id: 'legacy-2', active: true },
        ],
      },
      { created: 2, updated: 0, unchanged: 0, failed: 0 },
    ],
    [
      'imports them again',
      {
        ndjson: [
          { resourceType: 'Patient', id: 'legacy-1' },
          { resourceType: 'Patient', id: 'legacy-2', active: true },
        ],
      },
      { created: 0, updated: 0, unchanged: 2, failed: 0 },
    ],
    [
      'updates on condition',
      {
        transaction: 'transaction',
        entries: [
          {
            method: 'PUT',
            url: 'Patient?identifier=urn:ext|7',
            resource: { resourceType: 'Patient', identifier: [{ system: 'urn:ext', value: '7' }] },
          },
        ],
      },
      ['201'],
    ],
    ['reads itself', { read: '@{me.profile}' }, { name: 'The ClientApplication' }],
  ],
};

export const BOT: Role = {
  role: 'a Bot without a policy',
  who: { as: 'Bot' },
  operations: [
    ['finds open tasks', { search: 'Task?status=requested' }, ['call-ann']],
    [
      'completes one',
      { patch: 'Task/call-ann', operations: [{ op: 'replace', path: '/status', value: 'completed' }] },
      { status: 'completed' },
    ],
    [
      'writes a message',
      { create: { resourceType: 'Communication', status: 'completed', subject: { reference: 'Patient/ann' } } },
      { status: 'completed' },
    ],
    [
      'reads what it needs by GraphQL',
      {
        graphql:
          '{ Task(id: "call-ann") { status for { resource { ... on Patient { telecom(system: phone) { value } } } } } }',
      },
      { Task: { status: 'completed', for: { resource: { telecom: [{ value: '555-0101' }] } } } },
    ],
    ['reads itself', { read: '@{me.profile}' }, { name: 'The Bot' }],
  ],
};
