import type { Project } from '@medplum/fhirtypes';
import type { PersonType } from '../body/invite-body.js';
import type { MembershipSettings } from '../body/membership-settings.js';

/**
 * The policies that a project gives to new members for whom none was chosen: `Project.defaultAccessPolicies`, and for
 * Patients the older `Project.defaultPatientAccessPolicy`. A RelatedPerson's comes with its patient as parameter.
 *
 * | member | `profileType` looked for |
 * |---|---|
 * | Practitioner who is administrator | `Admin`, then `Practitioner` |
 * | others | the type of the profile |
 *
 * @param patient `Patient/1`: the RelatedPerson's
 */
export function defaultPolicies(
  project: Project,
  type: PersonType,
  admin: boolean,
  patient: string | undefined,
): MembershipSettings {
  const wanted = type === 'Practitioner' && admin ? ['Admin', 'Practitioner'] : [type];
  const listed = wanted.flatMap(
    (one) => project.defaultAccessPolicies?.filter((entry) => entry.profileType === one) ?? [],
  );
  const reference =
    listed[0]?.accessPolicy.reference ??
    (type === 'Patient' ? project.defaultPatientAccessPolicy?.reference : undefined);
  if (reference === undefined) return {};
  if (type !== 'RelatedPerson' || patient === undefined) return { accessPolicy: { reference } };
  const parameter = [{ name: 'patient', valueReference: { reference: patient } }];
  return { access: [{ policy: { reference }, parameter }] };
}
