import { describe, expect, it } from 'vitest';
import type { AnyResource } from '../../src/index.js';
import { hasShared, sharedJson, syntheaBundles, type TransactionBundle } from '../support/shared.js';
import { indexEntriesByFhirPath, withoutBoundSystems } from './index-by-fhirpath.js';

describe('index values equal those of the FHIRPath library', () => {
  it.each(ODD_RESOURCES())('for a %s of unusual shape', (_, resource) => {
    expect(withoutBoundSystems(resource)).toEqual(indexEntriesByFhirPath(resource));
    expect(withoutBoundSystems(resource).length).toBeGreaterThan(0);
  });

  it('for the resources of the corpus', () => {
    const { entry } = sharedJson<TransactionBundle>('corpus/supplement.json');
    for (const { resource } of entry) expect(withoutBoundSystems(resource)).toEqual(indexEntriesByFhirPath(resource));
    expect(entry.length).toBeGreaterThan(hasShared ? 50 : 10);
  });

  it('for real resources of every type in the Synthea sample', () => {
    const resources = someOfEachType(
      syntheaBundles(6).flatMap((bundle) => bundle.entry.map((entry) => entry.resource)),
      30,
    );
    for (const resource of resources) expect(withoutBoundSystems(resource)).toEqual(indexEntriesByFhirPath(resource));
    expect(new Set(resources.map((resource) => resource.resourceType)).size).toBeGreaterThan(12);
  });
});

function someOfEachType(resources: readonly AnyResource[], most: number): AnyResource[] {
  const byType = Map.groupBy(resources, (resource) => resource.resourceType);
  return [...byType.values()].flatMap((ofType) => ofType.slice(0, most));
}

/** Shapes that sample data lacks. */
function ODD_RESOURCES(): [string, AnyResource][] {
  const resources: object[] = [
    {
      resourceType: 'Patient',
      deceasedDateTime: '2020-01-01',
      name: [{ given: ['Ann', null, 'Bea'], _given: [null, { extension: [{ url: 'urn:x', valueString: 'y' }] }] }],
      telecom: [{ system: 'phone', value: '1' }, { system: 'email', value: 'a@b.c' }, { value: '3' }],
      generalPractitioner: [{ reference: 'Practitioner/1' }, { reference: '#c' }, { identifier: { value: '7' } }],
      link: [{ other: { reference: 'RelatedPerson/1' }, type: 'seealso' }],
    },
    { resourceType: 'Patient', _deceasedBoolean: { extension: [{ url: 'urn:x', valueCode: 'unknown' }] } },
    {
      resourceType: 'Observation',
      status: 'final',
      code: { coding: [{ system: 's', code: 'a' }, { code: 'b' }], text: 't' },
      valueCodeableConcept: { coding: [{ code: 'v' }], text: 'vt' },
      subject: { reference: 'Patient/1' },
      effectiveTiming: { event: ['2020-01-01', '2020-01-05'] },
      component: [
        { code: { coding: [{ code: 'x' }] }, valueSampledData: { origin: { value: 0 }, period: 1, dimensions: 1 } },
        { code: { coding: [{ code: 'y' }] }, valueQuantity: { value: 4, comparator: '<', code: 'g' } },
      ],
    },
    {
      resourceType: 'Observation',
      status: 'final',
      code: { coding: [{ code: 'a' }] },
      valueDateTime: '2020-01-01T10:00:00+02:00',
      subject: { type: 'Patient', identifier: { system: 'urn:i', value: '1' } },
    },
    {
      resourceType: 'Group',
      characteristic: [
        { code: { coding: [{ code: 'c' }] }, valueBoolean: true },
        { code: { coding: [{ code: 'd' }] }, valueRange: { low: { value: 1 }, high: { value: 2 } } },
        { code: { coding: [{ code: 'e' }] }, valueReference: { reference: 'Device/1' } },
      ],
    },
    {
      resourceType: 'Goal',
      startDate: '2020-01-01',
      target: [{ dueDate: '2021-01-01' }, { dueDuration: { value: 2 } }],
      subject: { reference: 'Group/1' },
    },
    {
      resourceType: 'ActivityDefinition',
      url: 'http://a',
      useContext: [
        { code: { system: 's', code: 'focus' }, valueCodeableConcept: { coding: [{ code: 'x' }] } },
        { code: { system: 's', code: 'age' }, valueRange: { low: { value: 1, unit: 'a' } } },
        { code: { system: 's', code: 'w' }, valueQuantity: { value: 3 } },
      ],
      relatedArtifact: [
        { type: 'depends-on', resource: 'http://d|1' },
        { type: 'predecessor', resource: 'http://p' },
      ],
      library: ['http://l'],
    },
    {
      resourceType: 'MolecularSequence',
      referenceSeq: {
        chromosome: { coding: [{ code: '1' }] },
        referenceSeqId: { text: 'r' },
        windowStart: 1,
        windowEnd: 2,
      },
      variant: [
        { start: 5, end: 6 },
        { start: 7, end: 8 },
      ],
    },
    {
      resourceType: 'Practitioner',
      qualification: [
        {
          code: { coding: [{ code: 'MD' }] },
          extension: [
            {
              url: 'http://hl7.org/fhir/us/davinci-pdex-plan-net/StructureDefinition/practitioner-qualification',
              extension: [{ url: 'whereValid', valueCodeableConcept: { coding: [{ code: 'CA' }] } }],
            },
          ],
        },
      ],
    },
    {
      resourceType: 'PractitionerRole',
      extension: [
        {
          url: 'http://hl7.org/fhir/us/davinci-pdex-plan-net/StructureDefinition/network-reference',
          valueReference: { reference: 'Organization/1' },
        },
      ],
    },
    {
      resourceType: 'Bundle',
      type: 'document',
      timestamp: '2020-01-01T00:00:00Z',
      identifier: { value: 'b' },
      entry: [
        { resource: { resourceType: 'Composition', id: 'c' } },
        { resource: { resourceType: 'Patient', id: 'p' } },
      ],
    },
    {
      resourceType: 'RiskAssessment',
      prediction: [{ probabilityDecimal: 0.25 }, { probabilityRange: { low: { value: 1 } } }],
    },
    {
      resourceType: 'ChargeItem',
      priceOverride: { value: 5, currency: 'EUR' },
      factorOverride: 1.5,
      occurrenceTiming: { event: ['2020'] },
    },
    {
      resourceType: 'Condition',
      onsetAge: { value: 40, code: 'a' },
      abatementString: 'soon',
      subject: { reference: 'Patient/1' },
    },
    { resourceType: 'Consent', sourceReference: { reference: 'Contract/1' }, dateTime: '2020' },
    {
      resourceType: 'ProjectMembership',
      profile: { reference: 'Bot/1' },
      user: { reference: 'User/1' },
      admin: true,
      access: [{ policy: { reference: 'AccessPolicy/1' } }],
      accessPolicy: { reference: 'AccessPolicy/2' },
    },
    { resourceType: 'ServiceRequest', priority: 'asap', status: 'active' },
    {
      resourceType: 'ResearchStudy',
      progressStatus: [{ state: { coding: [{ code: 's' }] }, actual: true, period: { start: '2020' } }],
    },
    {
      resourceType: 'DocumentReference',
      relatesTo: [{ code: 'replaces', target: { reference: 'DocumentReference/1' } }],
    },
    {
      resourceType: 'Appointment',
      participant: [{ actor: { reference: 'Location/1' } }, { actor: { reference: 'Practitioner/1' } }],
      start: '2020-01-01T00:00:00Z',
    },
  ];
  return resources.map((resource) => [(resource as AnyResource).resourceType, resource as AnyResource]);
}
