import type { AnyResource } from '../../fhir/resource.js';
import type { PolicyValue } from '../policy/parameters.js';
import { relatedPatient } from './related-patient.js';

/** `%profile` for everyone, `%patient` for a Patient and a RelatedPerson; a policy's own parameters may replace them. */
export function ownParameters(profile: AnyResource): Map<string, readonly PolicyValue[]> {
  const patient =
    profile.resourceType === 'Patient'
      ? profile.id
      : profile.resourceType === 'RelatedPerson'
        ? relatedPatient(profile, Date.now())
        : undefined;
  return new Map<string, readonly PolicyValue[]>([
    ['profile', [{ kind: 'reference', type: profile.resourceType, id: profile.id! }]],
    ...(patient === undefined ? [] : [['patient', [{ kind: 'reference', type: 'Patient', id: patient }]] as const]),
  ]);
}
