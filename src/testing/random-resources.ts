import type { AnyResource } from '../fhir/resource.js';
import { resourceOf } from './conformance-case.js';
import { below, oneOf } from './random.js';

/**
 * A few dozen linked resources with values of every search type, awkward ones included.
 *
 * @param base of the absolute references. A store with this base URL takes them for relative ones.
 */
export function randomResources(random: () => number, base = 'https://own.base/fhir'): readonly AnyResource[] {
  const pick = <Item>(...items: readonly Item[]): Item => oneOf(items, random);
  const maybe = (name: string, value: unknown): object => (random() < 0.7 ? { [name]: value } : {});
  const patientRef = (): object => {
    const chance = random();
    if (chance < 0.15) return { reference: '#p' };
    if (chance < 0.25) return { display: 'Somebody' };
    if (chance < 0.3) return { identifier: { system: 'urn:mrn', value: '1' } };
    return knownPatient();
  };
  const knownPatient = (): object => ({
    reference: pick(
      'Patient/p1',
      'Patient/p2',
      'Patient/p3',
      'Patient/p4',
      'Patient/gone',
      'Group/p1',
      'http://elsewhere/Patient/p1',
      `${base}/Patient/p1`,
      `${base}/Patient/p2/_history/3`,
      `${base}/Patient/gone`,
    ),
  });
  const concept = (): object => ({
    coding: Array.from({ length: below(3, random) }, () => ({
      ...maybe('system', pick('http://loinc.org', 'urn:b')),
      code: pick('8480-6', '8462-4', 'x|y', 'x$y', "it's"),
      ...maybe('display', pick('Systolic', 'Höhe', '100 %_')),
    })),
    ...maybe('text', pick('Blood pressure', 'free text')),
  });
  const quantity = (): object => ({
    value: pick(-1, 0, 5, 5.4, 5.45, 13, 120.5, 1e9),
    ...maybe('unit', pick('mg', 'mm[Hg]', 'milligram')),
    ...(random() < 0.5 ? { system: 'http://unitsofmeasure.org', code: pick('mg', 'mm[Hg]') } : {}),
    ...(random() < 0.2 ? { comparator: pick('<', '>=', '>') } : {}),
  });
  const date = (): string =>
    pick(
      '2019',
      '2020-02',
      '2020-02-29',
      '2020-02-29T12:00:00Z',
      '2020-02-29T23:30:00.5+02:00',
      '1999-12-31',
      '2020-03-01T00:00:00Z',
    );
  const period = (): object => ({
    ...maybe('start', pick('2019', '2020-02-28', '1999')),
    ...maybe('end', pick('2020-02-29', '2021', '2035-01')),
  });
  const organizationRef = (): object => ({
    reference: pick(
      'Organization/o1',
      'Organization/o2',
      'Organization/none',
      '#o',
      '#nothing',
      `${base}/Organization/o1`,
    ),
  });
  const patient = (): object => ({
    ...maybe('name', [
      {
        family: pick('Müller', "O'Hara", 'Smith-Jones', '%_', '', '😀 Hara', 'ﬁn'),
        given: [pick('Jim', 'jim', 'Ána'), pick('X.', 'José')],
      },
    ]),
    ...maybe('gender', pick('male', 'female')),
    ...maybe('birthDate', pick('1980', '1980-05', '1980-05-17')),
    ...maybe('active', random() < 0.5),
    ...maybe('identifier', [
      { ...maybe('system', pick('urn:mrn', 'urn:b')), value: pick('1', '2', 'x|y'), ...maybe('type', concept()) },
    ]),
    ...maybe('managingOrganization', organizationRef()),
  });
  /** Resources inside others: one that references another, and one with composite values. */
  const inside = (): object =>
    maybe('contained', [
      { resourceType: pick('Patient', 'Patient', 'Group'), id: 'p', ...patient() },
      {
        resourceType: 'Organization',
        id: 'o',
        name: pick('Clinic', 'clinic one'),
        partOf: { reference: 'Organization/o1' },
      },
      { resourceType: 'Observation', id: 'm', ...observation(), subject: { reference: '#p' } },
    ]);
  const observation = (): object => ({
    status: pick('final', 'amended'),
    code: concept(),
    ...maybe('category', [concept(), concept()]),
    ...maybe('subject', patientRef()),
    ...(random() < 0.7 ? { effectiveDateTime: date() } : { effectivePeriod: period() }),
    ...maybe('valueQuantity', quantity()),
    component: Array.from({ length: below(3, random) }, () => ({
      code: concept(),
      ...maybe('valueQuantity', quantity()),
    })),
    ...maybe('hasMember', [
      { reference: pick('Observation/o1', 'Observation/o2', '#m') },
      { reference: 'Observation/o3' },
    ]),
  });
  const many = (type: string, count: number, elements: () => object): readonly AnyResource[] =>
    Array.from({ length: count }, (_, index) =>
      resourceOf(type, `${type[0]!.toLowerCase()}${index + 1}`, { ...elements() }),
    );
  return [
    ...many('Patient', 8, () => ({
      ...inside(),
      ...patient(),
      ...maybe('address', [{ city: pick('Zürich', 'zurich', 'Paris'), country: 'CH' }]),
      ...maybe('meta', {
        tag: [{ system: 'urn:b', code: pick('a', 'b') }],
        profile: [pick('http://p/a', 'http://p/a|2')],
      }),
    })),
    ...many('Organization', 3, () => ({
      name: pick('Clinic', 'clinic one'),
      ...maybe('partOf', { reference: 'Organization/o1' }),
    })),
    ...many('Observation', 25, () => ({ ...inside(), ...observation() })),
    ...many('Bundle', 3, () => ({
      type: 'document',
      entry: [
        {
          resource: {
            resourceType: 'Composition',
            ...maybe('id', 'c'),
            title: 'Report',
            ...maybe('date', date()),
            subject: pick({ reference: 'urn:uuid:p' }, { reference: '#p' }, knownPatient()),
            ...inside(),
          },
        },
        { fullUrl: 'urn:uuid:p', resource: { resourceType: 'Patient', ...patient() } },
      ],
    })),
    ...many('Composition', 2, () => ({ title: 'Kept', date: date(), subject: patientRef(), ...inside() })),
    ...many('Encounter', 6, () => ({
      ...inside(),
      status: pick('planned', 'finished'),
      ...maybe('subject', patientRef()),
      period: period(),
    })),
    ...many('RiskAssessment', 5, () => ({
      status: 'final',
      subject: patientRef(),
      prediction: [
        random() < 0.6
          ? { probabilityDecimal: pick(0.1, 0.5, 0.55, 13) }
          : { probabilityRange: { low: { value: 0.2 }, high: { value: pick(0.3, 0.6) } } },
      ],
    })),
    ...many('DocumentReference', 4, () => ({
      status: 'current',
      content: [
        {
          attachment: {
            contentType: pick(
              'image/png',
              'image/jpeg',
              'text/xml',
              'text/xml;charset=utf-8',
              'text/xml ; a=b',
              'text/xmlx',
            ),
          },
        },
      ],
    })),
    ...many('ValueSet', 5, () => ({
      url: pick('http://a/b', 'http://a/b/c', 'http://a/bc', 'urn:x'),
      status: 'active',
      ...maybe('date', date()),
      ...maybe('version', pick('1.0-Beta', '1.0-beta', '2')),
    })),
  ];
}

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
