import type { AnyResource } from '../fhir/resource.js';
import { resourceOf } from './conformance-case.js';
import { below, oneOf } from './random.js';

/**
 * Some dozen linked resources with values of composites of every kind: of the resource itself and of its elements; of codes with
 * quantities, sampled data, concepts, texts, dates and references; one value and several.
 */
export function compositeResources(random: () => number): readonly AnyResource[] {
  const pick = <Item>(...items: readonly Item[]): Item => oneOf(items, random);
  const oneMade = (...makers: readonly (() => object)[]): object => oneOf(makers, random)();
  const reference = (type: string, count: number): object => ({
    reference: `${type}/${type[0]!.toLowerCase()}${1 + below(count + 1, random)}`,
  });
  const concept = (): object => ({
    coding: Array.from({ length: 1 + below(2, random) }, () => ({
      ...(random() < 0.7 ? { system: pick('http://loinc.org', 'urn:b') } : {}),
      code: pick('a', 'b', 'c'),
    })),
    text: pick('Blood sugar', 'fasting'),
  });
  const quantity = (): object => ({
    value: below(8, random),
    ...(random() < 0.7 ? { system: 'http://unitsofmeasure.org', code: pick('mg', 'g') } : {}),
  });
  const value = (): object =>
    oneMade(
      () => ({ valueQuantity: quantity() }),
      () => ({ valueQuantity: quantity() }),
      () => ({ valueCodeableConcept: concept() }),
      () => ({ valueString: pick('low', 'lower', 'high') }),
      () => ({ valueDateTime: pick('2020', '2020-02-29', '2021-01-01T10:00:00Z') }),
      () => ({ valuePeriod: { start: pick('2019', '2020-02'), ...(random() < 0.5 ? { end: '2021' } : {}) } }),
      () => ({ valueSampledData: { origin: quantity(), period: 1, dimensions: 1, data: '1 2' } }),
      () => ({}),
    );
  const useContext = (): object => ({
    code: { code: pick('age', 'focus') },
    ...oneMade(
      () => ({ valueQuantity: quantity() }),
      () => ({ valueCodeableConcept: concept() }),
    ),
  });
  const many = (type: string, count: number, elements: () => object): readonly AnyResource[] =>
    Array.from({ length: count }, (_, index) =>
      resourceOf(type, `${type[0]!.toLowerCase()}${index + 1}`, { ...elements() }),
    );
  return [
    ...many('Patient', 6, () => ({ gender: pick('male', 'female'), birthDate: pick('1980', '1980-05') })),
    ...many('Observation', 30, () => ({
      status: pick('final', 'amended'),
      code: concept(),
      subject: reference('Patient', 6),
      ...value(),
      component: Array.from({ length: below(3, random) }, () => ({ code: concept(), ...value() })),
      ...(random() < 0.4 ? { hasMember: [reference('Observation', 30)] } : {}),
    })),
    ...many('DocumentReference', 12, () => ({
      status: 'current',
      subject: reference('Patient', 6),
      content: [{ attachment: { contentType: 'text/plain' } }],
      relatesTo: Array.from({ length: below(3, random) }, () => ({
        code: pick('replaces', 'appends'),
        target: reference('DocumentReference', 12),
      })),
    })),
    ...many('Group', 8, () => ({
      type: 'person',
      actual: true,
      member: Array.from({ length: below(3, random) }, () => ({ entity: reference('Patient', 6) })),
      characteristic: Array.from({ length: below(3, random) }, () => ({
        code: concept(),
        exclude: false,
        ...oneMade(
          () => ({ valueCodeableConcept: concept() }),
          () => ({ valueBoolean: random() < 0.5 }),
        ),
      })),
    })),
    ...many('Measure', 6, () => ({
      status: 'active',
      useContext: Array.from({ length: below(3, random) }, useContext),
    })),
  ];
}
