import type { DefinitionTexts, ElementRow, ParameterRow, TypeRow } from '../../src/fhir/model/definition-types.js';
import { FhirModel } from '../../src/fhir/model/fhir-model.js';
import * as R4_TEXTS from '../../src/fhir/r4-definitions.js';
import { prepareModel } from '../../src/search/index/prepare-model.js';

/**
 * Definitions that differ from R4 in everything that a cache could confuse.
 *
 * | | R4 | other |
 * |---|---|---|
 * | resource type | Basic | Spaceship |
 * | element of Patient | maritalStatus | nickname |
 * | codes of Patient.gender | male, female, other, unknown | left, right |
 * | Binary.securityContext | Reference | string |
 * | Patient?language | token, the code of communication | string, the nickname |
 * | Patient?initial | | string, by an expression that needs the FHIRPath library |
 * | RelatedPerson?name | string | token |
 * | compartment of Observation | subject, performer | performer |
 */
export function otherModel(): Promise<FhirModel> {
  return prepareModel(new FhirModel(otherTexts()));
}

function otherTexts(): DefinitionTexts {
  const targets = JSON.parse(R4_TEXTS.targets) as string[][];
  const toPatient = targets.push(['Patient']) - 1;
  const codes = JSON.parse(R4_TEXTS.codes) as object[];
  const directions = codes.push({ codes: ['left', 'right'] }) - 1;

  const types = { ...R4_TEXTS.types };
  const { Basic: _type, ...parameters } = R4_TEXTS.parameters;
  delete types['Basic'];
  changeElements(types, 'Patient', (elements) => [
    ...elements
      .filter(([name]) => name !== 'maritalStatus')
      .map((row): ElementRow => (row[0] === 'gender' ? ['gender', 'code', 0, 'Where to', directions] : row)),
    ['nickname', 'string', 1, 'What friends say'],
  ]);
  changeElements(types, 'Binary', (elements) =>
    elements.map((row): ElementRow => (row[0] === 'securityContext' ? [row[0], 'string', row[2], row[3]] : row)),
  );
  const spaceship: TypeRow = {
    kind: 'resource',
    base: 'DomainResource',
    short: 'A ship',
    elements: [
      ['name', 'string', 0, 'Its name'],
      ['pilot', `Reference(${toPatient})`, 0, 'Who flies it'],
    ],
  };
  changeParameters(parameters, 'Patient', (rows) => [
    ...rows.filter(({ code }) => code !== 'language'),
    { code: 'language', type: 'string', expression: 'Patient.nickname', path: [['nickname']], short: 'Nickname' },
    { code: 'initial', type: 'string', expression: 'Patient.nickname.first().substring(0, 1)', short: 'Initial' },
  ]);
  changeParameters(parameters, 'RelatedPerson', (rows) =>
    rows.map((row) => (row.code === 'name' ? { ...row, type: 'token', path: [['identifier']] } : row)),
  );
  return {
    version: R4_TEXTS.version,
    resources: JSON.stringify(
      [...(JSON.parse(R4_TEXTS.resources) as string[]).filter((name) => name !== 'Basic'), 'Spaceship'].sort(),
    ),
    types: { ...types, Spaceship: JSON.stringify(spaceship) },
    targets: JSON.stringify(targets),
    codes: JSON.stringify(codes),
    parameters: {
      ...parameters,
      Spaceship: JSON.stringify([
        { code: 'name', type: 'string', expression: 'Spaceship.name', path: [['name']], short: 'Name' },
        {
          code: 'pilot',
          type: 'reference',
          expression: 'Spaceship.pilot',
          path: [['pilot']],
          targets: toPatient,
          short: 'Pilot',
        },
      ]),
    },
    patientCompartment: JSON.stringify({
      ...(JSON.parse(R4_TEXTS.patientCompartment) as object),
      Observation: ['performer'],
      Spaceship: ['pilot'],
    }),
  };
}

function changeElements(
  types: { [name: string]: string },
  name: string,
  change: (elements: readonly ElementRow[]) => readonly ElementRow[],
): void {
  const row = JSON.parse(types[name]!) as TypeRow;
  types[name] = JSON.stringify({ ...row, elements: change(row.elements) });
}

function changeParameters(
  parameters: { [type: string]: string },
  type: string,
  change: (rows: readonly ParameterRow[]) => readonly ParameterRow[],
): void {
  parameters[type] = JSON.stringify(change(JSON.parse(parameters[type]!) as ParameterRow[]));
}
