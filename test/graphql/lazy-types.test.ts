import { expect, test, vi } from 'vitest';
import { R4 } from '../../src/store.js';
import { FhirSchema } from '../../src/graphql/schema/schema.js';
import { openClinic } from './harness.js';

test('the first query of a process creates the types that it names, not one for each resource type', async () => {
  const created = vi.spyOn(FhirSchema.prototype, 'getType');
  try {
    const { data } = await openClinic([{ resourceType: 'Patient', id: 'a' }]);
    expect(await data('{ PatientList { id ... on Patient { active } } }')).toEqual({
      PatientList: [{ id: 'a', active: null }],
    });
    const names = new Set(created.mock.calls.map(([name]) => name));
    expect(names).toContain('Patient');
    expect(names).not.toContain('Account');
    expect(names).not.toContain('Observation');
  } finally {
    created.mockRestore();
  }
});

test('all names are known before their types are created', () => {
  const schema = new FhirSchema(R4, 'standard');
  const created = vi.spyOn(schema, 'getType');
  const types = schema.getTypeMap();
  expect(Object.keys(types)).toEqual([...R4.resourceTypes]);
  expect(created).not.toHaveBeenCalled();
  expect(Object.hasOwn(types, 'HumanName')).toBe(true);
  expect(Object.hasOwn(types, 'HumanNames')).toBe(false);
  expect(Object.entries(types).map(([name, type]) => type.name === name)).not.toContain(false);
});
