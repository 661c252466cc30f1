import { describe, expect, test } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import { searchParameter } from './search-parameters.js';

const defined = (expression: string): Promise<unknown> =>
  extendDefinitions(R4, {
    searchParameters: [searchParameter({ code: 'own', base: 'Patient', type: 'string', expression })],
  });

describe('An own search parameter that reads the target of resolve()', () => {
  test.each([
    'Patient.managingOrganization.resolve().name',
    'Patient.managingOrganization.resolve().where(active).name',
    'Patient.generalPractitioner.resolve().ofType(Practitioner).name.family',
    '(Patient.generalPractitioner.resolve() as Practitioner).name.family',
    'Patient.generalPractitioner.resolve()[0].name.family',
    "Patient.generalPractitioner.where(resolve().name.family = 'Lee').display",
    'Patient.generalPractitioner.select(resolve()).name.family',
    'Patient.name.family | Patient.generalPractitioner.resolve().name.family',
    "Patient.managingOrganization.resolve().extension('http://x').value",
    'Patient.managingOrganization.resolve().partOf.resolve().name',
    'Patient.managingOrganization.resolve().select($this.name)',
  ])('is refused: %s', async (expression) => {
    const error = await defined(expression).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'unsupported' });
    expect((error as Error).message).toMatch(/cannot depend on other resources, but the expression reads "resolve\(\)\./);
  });

  test.each([
    'Patient.generalPractitioner.where(resolve() is Practitioner).display.lower()',
    'Patient.generalPractitioner.where(resolve().ofType(Practitioner).exists()).display',
    'Patient.generalPractitioner.resolve().resourceType',
    'Patient.generalPractitioner.resolve().id',
    'Patient.generalPractitioner.select(iif(resolve() is Practitioner, display, identifier.value))',
  ])('needs no more than type and id: %s', async (expression) => {
    await expect(defined(expression)).resolves.toBeDefined();
  });
}); // prettier-ignore
