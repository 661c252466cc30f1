import type { Bundle, Patient } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { generateSample } from '../../examples/sample-data.js';

describe('generateSample', () => {
  test('gives the same data for the same seed, byte by byte', () => {
    expect(JSON.stringify([...generateSample({ patients: 3, seed: 'a' })])).toBe(
      JSON.stringify([...generateSample({ patients: 3, seed: 'a' })]),
    );
  });

  test('gives other people for another seed', () => {
    const [a, b] = ['a', 'b'].map((seed) => patients(generateSample({ patients: 5, seed })).map(({ id }) => id));
    expect(a).not.toEqual(b);
  });

  test('gives patient number n for any number of patients', () => {
    const few = [...generateSample({ patients: 2 })];
    const many = [...generateSample({ patients: 4 })];
    expect(many.slice(0, 3)).toEqual(few);
  });

  test('has about 280 resources per patient, 28,000 for a hundred', () => {
    const sizes = [...generateSample({ patients: 100 })].map((bundle) => bundle.entry!.length);
    expect(sizes).toHaveLength(101);
    for (const size of sizes.slice(1)) expect(size).toBeGreaterThan(240);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(27_000);
    expect(total).toBeLessThan(30_000);
  });

  test('covers clinical and administrative resources', () => {
    const types = new Set(entries(generateSample({ patients: 5 })).map(({ resource }) => resource!.resourceType));
    expect([...types].sort()).toEqual([
      'AllergyIntolerance',
      'Appointment',
      'Condition',
      'DiagnosticReport',
      'Encounter',
      'Immunization',
      'Location',
      'MedicationRequest',
      'Observation',
      'Organization',
      'Patient',
      'Practitioner',
      'PractitionerRole',
      'Procedure',
      'RelatedPerson',
      'Schedule',
      'Slot',
    ]);
  });

  test('never repeats an id', () => {
    const ids = entries(generateSample({ patients: 30 })).map(({ resource }) => resource!.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('refers only to earlier resources or resources of the same Bundle', () => {
    const before = new Set<string>();
    let references = 0;
    for (const bundle of generateSample({ patients: 10 })) {
      const own = new Set(bundle.entry!.map(({ fullUrl }) => fullUrl!));
      for (const reference of referencesIn(bundle)) {
        references++;
        expect(reference.startsWith('urn:uuid:') ? own.has(reference) : before.has(reference), reference).toBe(true);
      }
      for (const { resource } of bundle.entry!) before.add(`${resource!.resourceType}/${resource!.id!}`);
    }
    expect(references).toBeGreaterThan(5000);
  });

  test('has the shapes that the example queries need', () => {
    const all = entries(generateSample({ patients: 40 })).map(({ resource }) => resource!);
    const people = patients(generateSample({ patients: 40 }));
    expect(people.filter(({ name }) => name!.length > 1).length).toBeGreaterThan(5);
    expect(people.every((person) => '_birthDate' in person && person.extension!.length === 5)).toBe(true);
    expect(people.some(({ deceasedDateTime }) => deceasedDateTime !== undefined)).toBe(true);
    const observations = all.filter((resource) => resource.resourceType === 'Observation');
    expect(observations.filter(({ component }) => component?.length === 2).length).toBeGreaterThan(500);
    expect(
      observations.filter(({ valueCodeableConcept }) => valueCodeableConcept !== undefined).length,
    ).toBeGreaterThan(100);
    const reports = all.filter((resource) => resource.resourceType === 'DiagnosticReport');
    expect(reports.every(({ result }) => result!.length >= 5)).toBe(true);
  });
});

function entries(bundles: Iterable<Bundle>): NonNullable<Bundle['entry']> {
  return [...bundles].flatMap(({ entry }) => entry ?? []);
}

function patients(bundles: Iterable<Bundle>): Patient[] {
  return entries(bundles).flatMap(({ resource }) => (resource?.resourceType === 'Patient' ? [resource] : []));
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'reference' && typeof inner === 'string' ? [inner] : referencesIn(inner),
  );
}
