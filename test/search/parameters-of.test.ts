import { expect, test } from 'vitest';
import { type Criteria, parametersOf } from '../../src/store.js';
import { refersTo } from '../../src/search/criteria/criteria.js';

const token = { kind: 'token', code: 'x' } as const;

function match(parameter: string): Criteria {
  return { kind: 'match', parameter, test: token };
}

test('every parameter of nested criteria is found once, with the type it belongs to', () => {
  const criteria: Criteria = {
    kind: 'and',
    of: [
      { kind: 'not', of: { kind: 'or', of: [match('code'), { kind: 'missing', parameter: 'status', missing: true }] } },
      { kind: 'chain', parameter: 'subject', type: 'Patient', of: match('name') },
      {
        kind: 'has',
        type: 'Provenance',
        parameter: 'target',
        of: { kind: 'chain', parameter: 'agent', type: 'Practitioner', of: match('name') },
      },
      { kind: 'composite', parameter: 'code-value-quantity', tests: [] },
      match('code-value-quantity$1'),
      match('subject:identifier'),
      refersTo('code', { type: 'Patient', id: '1' }),
      { kind: 'id', ids: ['1'] },
      { kind: 'last-updated', test: { kind: 'date', prefix: 'gt', low: 0, high: 1 } },
      { kind: 'all' },
      { kind: 'none' },
    ],
  };
  const found = parametersOf('Observation', criteria).map(({ type, parameter }) => `${type}.${parameter}`);
  expect(found.toSorted()).toEqual([
    'Observation.#Patient',
    'Observation.code',
    'Observation.code-value-quantity',
    'Observation.status',
    'Observation.subject',
    'Patient.name',
    'Practitioner.name',
    'Provenance.#Practitioner',
    'Provenance.agent',
    'Provenance.target',
  ]);
});

test('the keys of a sort and the parameter of a search by reference are included, except for data that stores keep separately', () => {
  const sort = ['_id', '_lastUpdated', 'date'].map((parameter) => ({ parameter, descending: true }));
  expect(parametersOf('Observation', { kind: 'all' }, sort, ['subject'])).toEqual([
    { type: 'Observation', parameter: 'date' },
    { type: 'Observation', parameter: 'subject' },
  ]);
});

test('a chain includes the parameters of the contained resources on its path', () => {
  const criteria: Criteria = {
    kind: 'chain',
    parameter: 'encounter',
    type: 'Encounter',
    of: { kind: 'chain', parameter: 'subject', type: 'Patient', of: match('name') },
  };
  const found = parametersOf('Observation', criteria).map(({ type, parameter }) => `${type}.${parameter}`);
  expect(found.toSorted()).toEqual([
    'Encounter.#Patient',
    'Encounter.subject',
    'Observation.#Encounter',
    'Observation.#Patient',
    'Observation.encounter',
    'Patient.name',
  ]);
});
