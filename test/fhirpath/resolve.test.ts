import { beforeAll, describe, expect, test } from 'vitest';
import { createRepository, executeFhirGraphql, MemoryStore, systemCaller } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { compileFhirPath } from '../../src/fhirpath/compile.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';

beforeAll(() => loadFhirPath());

const store = new MemoryStore();
const caller = systemCaller('clinic');

beforeAll(async () => {
  const repository = createRepository({ store, caller });
  const ref = (reference: string): object => ({ reference });
  const E = 'http://elsewhere.example/fhir';
  const lee = { resourceType: 'Practitioner', id: 'c', name: [{ family: 'Lee' }] };
  const ward = { resourceType: 'Organization', id: 'w', name: 'Ward', partOf: ref('#clinic') };
  const clinic = { resourceType: 'Organization', id: 'clinic', name: 'Clinic' };
  const inner = { resourceType: 'Patient', id: 'i', contained: [lee], generalPractitioner: [ref('#c')] };
  const stored = [
    { resourceType: 'Organization', id: 'o', name: 'North' },
    { resourceType: 'Patient', id: 'p', managingOrganization: ref('Organization/o'), contained: [lee], generalPractitioner: [ref('#c')] },
    { resourceType: 'Patient', id: 'q', managingOrganization: ref('#w'), contained: [ward, clinic] },
    { resourceType: 'Patient', id: 'r', generalPractitioner: [{ display: 'Somebody' }] },
    { resourceType: 'Bundle', id: 'b', type: 'collection', entry: [
      { fullUrl: `${E}/Patient/i`, resource: inner },
      { fullUrl: `${E}/Observation/o`, resource: { resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'x' }, subject: ref('Patient/i') } },
    ] },
  ]; // prettier-ignore
  for (const resource of stored) await repository.update(resource as never);
});

async function found(list: string, expression: string): Promise<unknown> {
  const query = `query ($p: String) { ${list}(fhirpath: $p, _sort: "_id") { id } }`;
  const { data, errors } = await executeFhirGraphql(query, { store, caller, variables: { p: expression } });
  if (errors !== undefined) return errors.map(({ extensions }) => extensions.code);
  return (data as unknown as Record<string, { id: string }[]>)[list]!.map(({ id }) => id);
}

describe('resolve() in the argument fhirpath', () => {
  test('finds contained resources, from one to the next', async () => {
    expect(await found('PatientList', "generalPractitioner.resolve().name.family = 'Lee'")).toEqual(['p']);
    expect(await found('PatientList', "iif(id = 'q', managingOrganization.resolve().partOf.resolve().name = 'Clinic', false)")).toEqual(['q']);
  }); // prettier-ignore

  test('finds entries of the Bundle, and resources that an entry contains', async () => {
    const subject = 'entry.resource.ofType(Observation).subject.resolve()';
    expect(await found('BundleList', `${subject}.id = 'i'`)).toEqual(['b']);
    expect(await found('BundleList', `${subject}.generalPractitioner.resolve().name.family = 'Lee'`)).toEqual(['b']);
    expect(await found('BundleList', "entry.resource.ofType(Patient).generalPractitioner.resolve().name.family = 'Lee'")).toEqual(['b']);
  }); // prettier-ignore

  test('is refused where another resource would have to be read, and never empty', async () => {
    for (const rest of ["name = 'North'", 'exists()', 'where(active).exists()', 'children().count() > 0', 'extension.exists()']) {
      expect(await found('PatientList', `managingOrganization.resolve().${rest}`), rest).toEqual(['unsupported']);
    }
    expect(await found('PatientList', "iif(id = 'p', managingOrganization.resolve().name = 'North', true)")).toEqual(['unsupported']);
  }); // prettier-ignore

  test('tells types and ids that the reference states', async () => {
    expect(await found('PatientList', 'managingOrganization.resolve() is Organization')).toEqual(['p', 'q']);
    expect(await found('PatientList', 'generalPractitioner.where(resolve() is Practitioner).exists()')).toEqual(['p']);
    expect(await found('PatientList', "managingOrganization.resolve().id = 'o'")).toEqual(['p']);
  });

  test('works on elements', async () => {
    const { data, errors } = await executeFhirGraphql(
      `{ Patient(id: "p") { generalPractitioner(fhirpath: "resolve().name.family = 'Lee'") { reference } }
        Bundle(id: "b") { entry { resource { ... on Patient { generalPractitioner(fhirpath: "resolve().name.family = 'Lee'") { reference } } } } } }`,
      { store, caller },
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      Patient: { generalPractitioner: [{ reference: '#c' }] },
      Bundle: { entry: [{ resource: { generalPractitioner: [{ reference: '#c' }] } }, { resource: {} }] },
    });
  }); // prettier-ignore
});

test('elsewhere, reading an element of another resource is refused too', () => {
  const patient = { resourceType: 'Patient', managingOrganization: { reference: 'Organization/o' } };
  expect(() => compileFhirPath(R4, 'managingOrganization.resolve().name')(patient)).toThrow(
    expect.objectContaining({ code: 'unsupported' }) as Error,
  );
  expect(compileFhirPath(R4, 'managingOrganization.resolve().id')(patient)).toEqual(['o']);
});
