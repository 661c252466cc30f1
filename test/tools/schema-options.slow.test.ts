import { printFhirSchema } from 'fhirgraph';
import { expect, test } from 'vitest';
import { generate } from './generate-types.js';
import { generateOutput } from './generate-tada.js';

const SDL = printFhirSchema({ types: ['Patient', 'Observation'], scalars: 'fhir', enums: true, semanticNonNull: true });

test('graphql-codegen supports the enums and scalars', async () => {
  const types = await generate('typescript', [], SDL);
  expect(types).toMatch(/export (?:enum|type) AdministrativeGender\b/);
  expect(types).toMatch(/gender\?: .*AdministrativeGender/);
  expect(types).toMatch(/date: \{ input: (?:any|unknown); output: (?:any|unknown);? \}/);
  expect(types).toMatch(/birthDate\?: .*Scalars\['date'\]/);
  const query = 'query Names($use: NameUse) { Patient(id: "1") { gender birthDate name(use: $use) { family } } }';
  expect(await generate('operations', [query], SDL)).toContain('NamesQueryVariables');
  const found = 'query Found { ObservationList(_count: 1) { status } }';
  expect(await generate('operations', [found], SDL)).toMatch(/status: (?:Types\.)?ObservationStatus \| null/);
  expect(types).toMatch(/'entered_in_error'/);
});

test('gql.tada supports the enums and scalars', async () => {
  const output = await generateOutput(SDL);
  expect(output).toMatch(/'AdministrativeGender': \{ name: 'AdministrativeGender'; enumValues: 'male' \| 'female'/);
  expect(output).toMatch(/'ObservationStatus': \{ [^}]*enumValues: [^;]*'entered_in_error'/);
  expect(output).toContain("'date': unknown");
  expect(output).toMatch(/'birthDate': \{ name: 'birthDate'; type: \{ kind: 'SCALAR'; name: 'date'/);
});
