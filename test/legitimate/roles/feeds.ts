import type { Operation, Role } from '../operation.js';
import { weight } from './weight.js';

const FEED_RULES = [
  { resourceType: 'Patient', interaction: ['search', 'read'], hiddenFields: ['telecom', 'address', 'contact'] },
  {
    resourceType: 'Observation',
    criteria: 'Observation?category=laboratory',
    interaction: ['search', 'read', 'create', 'update'],
    writeConstraint: [{ language: 'text/fhirpath', expression: "%before.exists().not() or %before.status != 'final'" }],
  },
  { resourceType: 'DiagnosticReport' },
];

const glucose = { ...weight('bob'), category: [{ coding: [{ code: 'laboratory' }] }], status: 'preliminary' };

const FEED: readonly Operation[] = [
  ['finds a patient by number', { search: 'Patient?identifier=urn:mrn|2' }, ['bob']],
  ['writes a preliminary value', { create: glucose, as: 'value' }, { status: 'preliminary' }],
  ['makes it final', { edit: 'Observation/@{value.id}', set: { status: 'final' } }, { status: 'final' }],
  ['finds its values', { search: 'Observation?subject=Patient/bob' }, ['@{value.id}']],
  [
    'finalizes what it finds',
    { edit: 'Observation/cal-glucose', set: { status: 'final' } },
    { meta: { versionId: '2' } },
  ],
  [
    'writes a report with its results in one transaction',
    {
      transaction: 'transaction',
      entries: [
        {
          method: 'POST',
          url: 'Observation',
          fullUrl: 'urn:uuid:5f4a3c7e-0b0c-4f3a-9f5e-222222222222',
          resource: glucose,
        },
        {
          method: 'POST',
          url: 'DiagnosticReport',
          resource: {
            resourceType: 'DiagnosticReport',
            status: 'final',
            code: { text: 'Panel' },
            subject: { reference: 'Patient/bob' },
            result: [{ reference: 'urn:uuid:5f4a3c7e-0b0c-4f3a-9f5e-222222222222' }],
          },
        },
      ],
    },
    ['201', '201'],
  ],
  [
    'reads the report with its results',
    {
      graphql:
        '{ DiagnosticReportList(subject: "Patient/bob") { result { resource { ... on Observation { status } } } } }',
    },
    { DiagnosticReportList: [{ result: [{ resource: { status: 'preliminary' } }] }] },
  ],
  [
    'creates once only',
    {
      create: { ...glucose, identifier: [{ system: 'urn:lab', value: '1' }] },
      ifNoneExist: 'identifier=urn:lab|1',
      as: 'once',
    },
    { meta: { versionId: '1' } },
  ],
  [
    'and finds it the second time',
    { create: { ...glucose, identifier: [{ system: 'urn:lab', value: '1' }] }, ifNoneExist: 'identifier=urn:lab|1' },
    { meta: { versionId: '1' } },
  ],
  [
    'sends a batch',
    {
      transaction: 'batch',
      entries: [
        { method: 'POST', url: 'Observation', resource: glucose },
        { method: 'GET', url: 'Patient?identifier=urn:mrn|3' },
      ],
    },
    ['201', '200'],
  ],
];

export const LABORATORY: Role = {
  role: 'a ClientApplication that feeds laboratory values',
  who: { as: 'ClientApplication', rules: FEED_RULES },
  operations: FEED,
};

export const BOT_FEED: Role = {
  role: 'a Bot with the policy of a feed',
  who: { as: 'Bot', rules: FEED_RULES },
  operations: FEED,
};
