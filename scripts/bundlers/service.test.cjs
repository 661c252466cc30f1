/* global test, expect */
// Jest in CommonJS mode: the package is required, and Node.js loads it as ES modules.
const { executeFhirGraphql, MemoryStore, systemCaller } = require('fhirgraph');
const { createTestService } = require('fhirgraph/test-service');

test('a query answers', async () => {
  const { data, errors } = await executeFhirGraphql('{ PatientList { id } }', {
    store: new MemoryStore(),
    caller: systemCaller('clinic'),
  });
  expect(errors).toBeUndefined();
  expect(JSON.parse(JSON.stringify(data))).toEqual({ PatientList: [] });
});

test('a service answers, with FHIRPath', async () => {
  const service = await createTestService({
    data: [{ resourceType: 'Patient', id: 'ann', name: [{ family: 'Lee' }] }],
  });
  const query = encodeURIComponent('{ Patient(id: "ann") { name(fhirpath: "family.exists()") { family } } }');
  const response = await service.fetch(`${service.baseUrl}/$graphql?query=${query}`);
  expect((await response.json()).data).toEqual({ Patient: { name: [{ family: 'Lee' }] } });
  await service.close();
});
