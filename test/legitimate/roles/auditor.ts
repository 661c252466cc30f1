import type { Role } from '../operation.js';

const READS = ['read', 'vread', 'search', 'history'];

export const AUDITOR: Role = {
  role: 'a read-only auditor',
  who: { as: 'Practitioner', rules: [{ resourceType: '*', interaction: READS }] },
  operations: [
    ['lists patients', { search: 'Patient' }, ['ann', 'bob', 'cal', 'dan']],
    ['reads a history', { history: 'Patient/ann' }, ['1']],
    ['reads a version', { vread: 'Patient/ann/_history/1' }, { id: 'ann' }],
    ['reads a file', { read: 'Binary/bob-photo' }, { contentType: 'image/png' }],
    ['counts by type', { count: 'Observation?status=final' }, 4],
    ['sorts by date', { search: 'Observation?_sort=-date&_count=2' }, ['cal-glucose', 'ann-glucose']],
    [
      'asks for a connection',
      { graphql: '{ EncounterConnection(status: "finished", _count: 0) { count } }' },
      { EncounterConnection: { count: 1 } },
    ],
    ['knows what it may do', { explain: 'Patient' }, READS],
  ],
};
