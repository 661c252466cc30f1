import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openClinic, type Sample } from '../graphql/harness.js';

// Documents as Relay's compiler prints them, with keys of its own such as `__isResource`; see relay/README.md.

const RESOURCES: readonly Sample[] = [
  { resourceType: 'Patient', id: 'ann', birthDate: '1970-05-17', name: [{ text: 'Ann' }], meta: {} },
  { resourceType: 'Group', id: 'g', quantity: 2 },
  { resourceType: 'Observation', id: 'o1', status: 'final', subject: { reference: 'Patient/ann' }, effectiveDateTime: '2020' },
  {
    resourceType: 'MedicationRequest',
    id: 'm',
    subject: { reference: 'Patient/ann' },
    contained: [{ resourceType: 'Medication', id: 'med', code: { text: 'A' } }],
    medicationReference: { reference: '#med' },
  },
]; // prettier-ignore

const clinic = await openClinic(RESOURCES);

function textOf(name: string): string {
  const file = new URL(`relay/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { params: { text: string } }).params.text;
}

test("the output of Relay's compiler is answered, including its own keys", async () => {
  const text = textOf('clinicChartQuery');
  expect(text).toContain('__isResource: __typename');
  const { Patient: patient } = (await clinic.data(text, { id: 'ann' })) as { Patient: Sample };
  expect(patient).toMatchObject({
    id: 'ann',
    birthDate: '1970-05-17',
    __isResource: 'Patient',
    name: [{ text: 'Ann' }],
    ObservationList: [
      {
        cache_key: 'Observation/o1',
        status: 'final',
        subject: { resource: { __typename: 'Patient', __isResource: 'Patient', id: 'ann', birthDate: '1970-05-17' } },
      },
    ],
  });
});

test('its fragments on contained resources are answered too', async () => {
  const data = await clinic.data(textOf('clinicMedicationsQuery'), { patient: 'Patient/ann' });
  const contained = { __typename: 'Medication', __isResource: 'Medication', id: 'med', code: { text: 'A' } };
  expect(data).toMatchObject({
    MedicationRequestList: [
      {
        id: 'm',
        contained: [contained],
        medicationReference: { resource: { __typename: 'Medication', code: { text: 'A' } } },
      },
    ],
  });
});

test('enums that the compiler knows are returned in answers, and are accepted in filters and mutations', async () => {
  const enums = { enums: true };
  const compiled = JSON.parse(
    readFileSync(new URL('relay/clinicStatusQuery.json', import.meta.url), 'utf8'),
  ) as CompiledForTests;
  const { enumValues } = compiled.params.metadata.relayTestingSelectionTypeInfo['Observation.status']!;
  expect(enumValues).toContain('entered_in_error');
  const answer = await clinic.data(textOf('clinicStatusQuery'), { id: 'o1', use: 'old' }, enums);
  expect(answer).toMatchObject({ Observation: { status: 'final', subject: { resource: { name: [] } } } });
  const change = { id: 'o1', status: 'entered_in_error' };
  expect(await clinic.data(textOf('clinicStatusMutation'), change, enums)).toMatchObject({
    ObservationUpdate: { status: 'entered_in_error' },
  });
  expect(await clinic.data('{ Observation(id: "o1") { status } }')).toEqual({
    Observation: { status: 'entered-in-error' },
  });
});

interface CompiledForTests {
  readonly params: {
    readonly metadata: {
      readonly relayTestingSelectionTypeInfo: { readonly [path: string]: { readonly enumValues: readonly string[] } };
    };
  };
}
