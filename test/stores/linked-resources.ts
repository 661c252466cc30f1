import type { AnyResource } from '../../src/fhir/resource.js';
import { below, oneOf } from '../../src/testing/random.js';

/** Three types that refer to each other: by several references, absolute references, to other types, to missing resources. */
export function linkedResources(count: number, random: () => number, prefix = ''): AnyResource[] {
  const ref = (type: string, most: number): { reference: string } => ({
    reference: `${random() < 0.05 ? 'https://other.example/fhir/' : ''}${type}/${type[0]!.toLowerCase()}${below(most, random)}`,
  });
  const some = <Value>(share: number, value: () => Value): Value | undefined =>
    random() < share ? value() : undefined;
  return Array.from({ length: count }, (_, index) => [
    {
      resourceType: 'Observation',
      id: `${prefix}o${index}`,
      status: oneOf(['final', 'final', 'final', 'amended'], random),
      code: { coding: [{ code: `c${below(5, random)}` }] },
      subject: random() < 0.9 ? ref(random() < 0.1 ? 'Group' : 'Patient', 1 + below(45, random)) : undefined,
      encounter: some(0.7, () => ref('Encounter', 50)),
      performer: some(0.7, () => Array.from({ length: 1 + below(3, random) }, () => ref('Practitioner', 6))),
      valueQuantity: some(0.5, () => ({ value: below(20, random), ...oneOf(UNITS, random) })),
    },
    ...(index % 3 === 0
      ? [
          {
            resourceType: 'Encounter',
            id: `${prefix}e${index / 3}`,
            status: 'finished',
            class: { code: oneOf(['AMB', 'AMB', 'IMP'], random) },
            subject: ref('Patient', 45),
          },
          {
            resourceType: 'Patient',
            id: `${prefix}p${index / 3}`,
            gender: oneOf(['female', 'male'], random),
            generalPractitioner: some(0.6, () => [ref('Practitioner', 6)]),
          },
        ]
      : []),
  ]).flat();
}

const UNITS: readonly object[] = [
  {},
  { unit: 'mg' },
  { system: 'http://unitsofmeasure.org', code: 'mg' },
  { system: 'http://unitsofmeasure.org', code: 'g', unit: 'mg' },
];

/** The id of the Patient or Encounter that a value refers to. */
export function linkedIdOf(value: unknown): string | undefined {
  return /^(?:Patient|Encounter)\/(.*)$/.exec((value as { reference?: string } | undefined)?.reference ?? '')?.[1];
}
