import { expect, test, vi } from 'vitest';
import { openClinic } from './harness.js';

const loads = vi.hoisted(() => ({ rules: 0, coercion: 0 }));
vi.mock(import('../../src/graphql/check-by-rules.js'), (original) => {
  loads.rules += 1;
  return original();
});
vi.mock(import('../../src/graphql/graphql-js-validation.js'), (original) => {
  loads.coercion += 1;
  return original();
});

test('a plain read loads neither the rules nor the coercion of graphql-js', async () => {
  const { ask } = await openClinic([{ resourceType: 'Patient', id: 'p', gender: 'female' }]);
  const query =
    'query ($id: ID!, $n: Int) { Patient(id: $id) { gender ObservationList(_reference: subject, _count: $n) { id } } }';
  const data = { Patient: { gender: 'female', ObservationList: [] } };
  expect(await ask(query, { id: 'p', n: 3 })).toMatchObject({ data });
  expect(loads).toEqual({ rules: 0, coercion: 0 });

  expect(await ask('query ($id: ID = "p") { Patient(id: $id) { gender } }')).toMatchObject({
    data: { Patient: { gender: 'female' } },
  });
  expect(loads).toEqual({ rules: 1, coercion: 1 });
});
