import { describe, expect, test } from 'vitest';
import { readsHidden, withoutFields } from '../../src/access/fields/hidden-fields.js';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import type { AnyResource } from '../../src/index.js';
import { indexEntries, type IndexEntry } from '../../src/store.js';
import { createRandom, oneOf, randomResources } from '../support/kit.js';
import { randomParameters } from '../definitions/random-parameters.js';
import { searchParameter } from '../definitions/search-parameters.js';
import { cases, SEED } from '../support/chance.js';

/** Expressions that reach elements without their names. */
const SLY = [
  '(Patient as DomainResource).name.family',
  'Patient.as(DomainResource).name.given',
  'Patient.ofType(DomainResource).name.text',
  'Patient.children().ofType(HumanName).family',
  'Patient.descendants().ofType(string)',
  "%resource.children().where($this is HumanName).select(descendants()).where($this = 'Meyer')",
  'Patient.`na\\u006de`.family',
  'Patient.repeat(children()).ofType(HumanName).given',
  'Patient.select(%rootResource).children().ofType(HumanName).text',
  'iif(Patient.name.family.exists(), Patient.gender, Patient.birthDate)',
  'Patient.gender.where(%resource.name.exists() and $this.exists())',
];

describe(`custom parameters that read no hidden field have values that do not depend on it (seed ${SEED})`, () => {
  test('for expressions that reach elements without their names', async () => {
    const searchParameters = SLY.map((expression, index) =>
      searchParameter({ code: `sly-${index}`, base: 'Patient', type: 'string', expression }),
    );
    const model = await extendDefinitions(R4, { searchParameters });
    const patient = {
      resourceType: 'Patient',
      gender: 'female',
      birthDate: '2000-01-01',
      name: [{ family: 'Meyer', given: ['Ann'], text: 'Ann Meyer' }],
    };
    const valuesIn = (resource: AnyResource, code: string): readonly IndexEntry[] =>
      indexEntries(model, resource).filter(({ parameter }) => parameter === code);
    searchParameters.forEach((_, index) => {
      const code = `sly-${index}`;
      expect(valuesIn(patient, code), SLY[index]).not.toEqual(valuesIn(withoutFields(patient, ['name']), code));
      expect(readsHidden(model, 'Patient', code, ['name']), SLY[index]).toBe(true);
    });
  });

  test('for random expressions', async () => {
    const random = createRandom(SEED);
    const resources = randomResources(random);
    const types = [...new Set(resources.map(({ resourceType }) => resourceType))];
    const model = await extendDefinitions(R4, {
      searchParameters: randomParameters(R4, types, 40, random),
      words: true,
    });
    let hidden = 0;
    for (let round = 0; round < cases(1_000, 60); round++) {
      const resource = oneOf(resources, random);
      const type = resource.resourceType;
      const field = oneOf(
        Object.keys(resource).filter((name) => name !== 'resourceType' && name !== 'id'),
        random,
      );
      const before = indexEntries(model, resource);
      const after = indexEntries(model, withoutFields(resource, [field]));
      for (const { code } of model.searchParameters(type).values()) {
        if (readsHidden(model, type, code, [field])) {
          hidden += 1;
          continue;
        }
        const of = (entries: readonly IndexEntry[]): readonly IndexEntry[] =>
          entries.filter(
            ({ parameter }) => parameter.split(/[$:]/, 1)[0] === code && !readsHidden(model, type, parameter, [field]),
          );
        expect(of(after), `${type}.${code} without ${field}`).toEqual(of(before));
      }
    }
    expect(hidden).toBeGreaterThan(50);
  });
});
