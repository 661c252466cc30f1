import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { NONE, or, refersTo, type Criteria } from '../../search/criteria/criteria.js';

/**
 * The resources of a type that belong to the compartment of another resource.
 *
 * For a Patient this is HL7's compartment (https://hl7.org/fhir/R4/compartmentdefinition-patient.html) and the Patient
 * itself. HL7 defines no compartment of an Organization or a CareTeam, for example. There it is the resource itself and
 * every resource that refers to it through any reference parameter.
 */
export function compartmentCriteria(
  model: FhirModel,
  type: string,
  owner: { readonly type: string; readonly id: string },
): Criteria {
  const codes = owner.type === 'Patient' ? model.patientCompartment(type) : referenceCodes(model, type, owner.type);
  const references = codes.map((parameter) => refersTo(parameter, owner));
  const itself: Criteria = type === owner.type ? { kind: 'id', ids: [owner.id] } : NONE;
  // A Patient's links to others do not bring those others into its compartment.
  return type === 'Patient' && owner.type === 'Patient' ? itself : or([itself, ...references]);
}

function referenceCodes(model: FhirModel, type: string, target: string): string[] {
  return [...model.searchParameters(type).values()]
    .filter(({ type, targets }) => type === 'reference' && (targets === undefined || targets.includes(target)))
    .map(({ code }) => code);
}
