import type { Repository } from 'fhirgraph';

/** What the clinic's record holds, as references. */
export interface Records {
  readonly north: string;
  readonly south: string;
  /** The AccessPolicy of staff, for the organization given as its parameter. */
  readonly staffPolicy: string;
  readonly cleo: string;
}

const VITAL_SIGNS = [
  ['29463-7', 'Body weight'],
  ['8867-4', 'Heart rate'],
] as const;

/** Three organizations with a patient and two observations each, and the policy for the staff of an organization. */
export async function fillRecord(repository: Repository): Promise<Records> {
  const policy = await repository.create({
    resourceType: 'AccessPolicy',
    name: 'Staff of one organization',
    resource: [
      { resourceType: 'Organization', criteria: 'Organization?_id=%organization.id', readonly: true },
      { resourceType: 'Patient', criteria: 'Patient?organization=%organization' },
      { resourceType: 'Observation', criteria: 'Observation?patient.organization=%organization' },
    ],
  });
  const [north, south, west] = await Promise.all(
    ['North', 'South', 'West'].map((name) => repository.create({ resourceType: 'Organization', name })),
  );
  const patients = await Promise.all(
    [
      { name: 'Cleo Brook', organization: north! },
      { name: 'Eva Field', organization: south! },
      { name: 'Fay Moor', organization: west! },
    ].map(async ({ name, organization }) => {
      const [given, family] = name.split(' ') as [string, string];
      const patient = await repository.create({
        resourceType: 'Patient',
        name: [{ text: name, given: [given], family }],
        managingOrganization: { reference: `Organization/${organization.id}` },
      });
      for (const [code, text] of VITAL_SIGNS) {
        await repository.create({
          resourceType: 'Observation',
          status: 'final',
          code: { coding: [{ system: 'http://loinc.org', code }], text },
          subject: { reference: `Patient/${patient.id}` },
        });
      }
      return patient;
    }),
  );
  return {
    north: `Organization/${north!.id}`,
    south: `Organization/${south!.id}`,
    staffPolicy: `AccessPolicy/${policy.id}`,
    cleo: `Patient/${patients[0]!.id}`,
  };
}
