import { expect, test, vi } from 'vitest';
import { R4 } from '../../src/fhir/r4.js';
import { validateResource } from '../../src/fhir/validate-resource.js';

test('a resource of half the limit is measured without its JSON text', () => {
  const name = Array.from({ length: 50 }, (_, n) => ({ text: `Name ${n}`, period: { start: '2020' } }));
  const resource = { resourceType: 'Patient', name, multipleBirthInteger: 2 };
  const maxBytes = 2 * JSON.stringify(resource).length;
  const stringify = vi.spyOn(JSON, 'stringify');
  expect(validateResource(R4, resource, { maxBytes })).toEqual([]);
  expect(stringify).not.toHaveBeenCalled();
  stringify.mockRestore();
});
