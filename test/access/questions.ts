import type { SampleType } from './world.js';

/** A search in the form of the repository and, if GraphQL can express it, as arguments of a list. */
export interface Question {
  readonly type: SampleType;
  readonly rest: string;
  readonly graphql?: string;
}

/** Searches by fields that policies can hide, and for resources that they can hide. */
export const QUESTIONS: readonly Question[] = [
  ...ask('Patient', [
    ['', ''],
    ['name=Adams', 'name: "Adams"'],
    ['given=Jo', 'given: "Jo"'],
    ['family:exact=Adams'],
    ['gender=female', 'gender: "female"'],
    ['gender:not=female'],
    ['birthdate=lt1990', 'birthdate: "lt1990"'],
    ['birthdate:missing=true'],
    ['organization=Organization/org1', 'organization: "Organization/org1"'],
    ['organization.name=North', '_filter: "organization.name eq \\"North\\""'],
    ['organization.partof.name=South', '_filter: "organization.partof.name eq \\"South\\""'],
    ['_has:Observation:subject:status=final'],
    ['_has:Observation:subject:code=a'],
    ['_has:Encounter:patient:_has:Observation:encounter:status=final'],
    ['general-practitioner:Practitioner.gender=male', '_filter: "general-practitioner:Practitioner.gender eq male"'],
    ['email=jo@example.org', 'email: "jo@example.org"'],
    ['email:missing=true'],
    ['link:Patient.gender=female'],
    ['_id=p1,p2', '_id: ["p1", "p2"]'],
    ['_filter=birthdate pr true and gender eq male', '_filter: "birthdate pr true and gender eq male"'],
    ['_filter=not (birthdate gt 1980-01-01)', '_filter: "not (birthdate gt 1980-01-01)"'],
  ]),
  ...ask('Observation', [
    ['', ''],
    ['status=final', 'status: "final"'],
    ['status:not=final'],
    ['code=a', 'code: "a"'],
    ['code:text=display'],
    ['value-quantity=gt5', 'value_quantity: "gt5"'],
    ['value-string=low', 'value_string: "low"'],
    ['component-value-quantity=gt1', 'component_value_quantity: "gt1"'],
    ['component-code=a', 'component_code: "a"'],
    ['component-code-value-quantity=a$gt1', 'component_code_value_quantity: "a$gt1"'],
    ['code-value-quantity=a$gt5', 'code_value_quantity: "a$gt5"'],
    ['combo-code-value-quantity=a$gt5', 'combo_code_value_quantity: "a$gt5"'],
    ['combo-value-quantity=gt5', 'combo_value_quantity: "gt5"'],
    ['subject=Patient/p1', 'subject: "Patient/p1"'],
    ['patient=p2', 'patient: "p2"'],
    ['subject:missing=true'],
    ['subject:Patient.gender=female', '_filter: "subject:Patient.gender eq female"'],
    ['subject:Patient.name=Adams', '_filter: "subject:Patient.name co \\"adams\\""'],
    ['subject:Patient.organization.name=North', '_filter: "subject:Patient.organization.name eq \\"North\\""'],
    ['encounter.status=finished', '_filter: "encounter.status eq finished"'],
    ['encounter.subject:Patient.birthdate=lt1990'],
    ['has-member:Observation.value-string=low'],
    ['performer:Practitioner.gender=male'],
    ['_has:Observation:has-member:status=final'],
    ['_filter=not (subject:Patient.gender eq female)', '_filter: "not (subject:Patient.gender eq female)"'],
    ['_filter=subject[gender eq male].birthdate lt 1990-01-01'],
  ]),
  ...ask('Encounter', [
    ['', ''],
    ['status=finished', 'status: "finished"'],
    ['subject:Patient.gender=female', '_filter: "subject:Patient.gender eq female"'],
    ['service-provider.name=North'],
    ['practitioner.gender=male'],
    ['_has:Observation:encounter:status=final'],
  ]),
  ...ask('Organization', [
    ['', ''],
    ['name=North', 'name: "North"'],
    ['partof.name=South', '_filter: "partof.name eq \\"South\\""'],
    ['_has:Patient:organization:gender=female'],
    ['_has:Organization:partof:_has:Patient:organization:birthdate=lt1990'],
  ]),
  ...ask('Practitioner', [
    ['', ''],
    ['name=Adams', 'name: "Adams"'],
    ['_has:Patient:general-practitioner:gender=female'],
  ]),
  ...ask('RelatedPerson', [['', ''], ['patient.birthdate=lt1990'], ['patient=Patient/p1', 'patient: "Patient/p1"']]),
];

/** Sorts by fields that can be hidden. */
export const SORTS: { readonly [Type in SampleType]: readonly string[] } = {
  Patient: ['birthdate', '-family', 'gender,-birthdate', '-given', 'organization'],
  Observation: ['value-quantity', '-status', 'code,-value-string', 'subject'],
  Encounter: ['status', '-subject'],
  Organization: ['name', '-name'],
  Practitioner: ['family', '-gender'],
  RelatedPerson: ['-name'],
};

function ask(type: SampleType, searches: readonly (readonly [rest: string, graphql?: string])[]): Question[] {
  return searches.map(([rest, graphql]) => (graphql === undefined ? { type, rest } : { type, rest, graphql }));
}
