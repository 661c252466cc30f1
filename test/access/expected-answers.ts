import type { AnyResource } from '../../src/index.js';
import type { Oracle } from './oracle.js';
import { IDS, type Json, type SampleType } from './world.js';

/** The selection of one query for each type: all elements that policies of the tests hide, references and reverse references. */
export const FRAGMENTS = `
fragment name on HumanName { family given }
fragment patient on Patient { resourceType id gender birthDate name { ...name } named: name(fhirpath: "given.exists()") { family }
  telecom { system value } contact { name { ...name } gender } }
fragment Patient on Patient { ...patient
  managingOrganization { reference resource(optional: true) { ... on Organization { id name } } }
  generalPractitioner { reference resource(optional: true) { ... on Practitioner { id gender name { ...name } } } }
  ObservationList(_reference: subject) { id status }
  finals: ObservationList(_reference: subject, status: "final") { id }
  ObservationConnection(_reference: subject, _count: 1) { count }
  EncounterList(_reference: patient) { id } }
fragment Observation on Observation { resourceType id status code { coding { code display } }
  valueQuantity { value code } valueString component { code { coding { code } } valueQuantity { value } valueString }
  encounter { reference resource(optional: true) { ... on Encounter { id status
    subject { resource(optional: true) { ... on Patient { ...patient } } } } } }
  subject { reference display resource(optional: true) { ... on Patient { ...patient } } }
  contained { ... on Patient { ...patient } } }
fragment Encounter on Encounter { resourceType id status subject { reference resource(optional: true) { ... on Patient { ...patient } } }
  serviceProvider { reference } participant { individual { reference } }
  ObservationList(_reference: encounter) { id } }
fragment Organization on Organization { resourceType id name partOf { reference resource(optional: true) { ... on Organization { id name } } }
  PatientList(_reference: organization) { id } }
fragment Practitioner on Practitioner { resourceType id gender name { ...name } PatientList(_reference: general_practitioner) { id } }
fragment RelatedPerson on RelatedPerson { resourceType id name { ...name }
  patient { reference resource(optional: true) { ... on Patient { ...patient } } } }
`;

/** The result of the fragment of its type for a resource, as the caller sees it. */
export function answerOf(oracle: Oracle, seen: AnyResource): Json {
  return ANSWERS[seen.resourceType as SampleType](oracle, seen as unknown as Json);
}

const ANSWERS: { readonly [Type in SampleType]: (oracle: Oracle, seen: Json) => Json } = {
  Patient: (oracle, seen) => ({
    ...patientOf(seen),
    managingOrganization: one(seen['managingOrganization'], (value) => ({
      reference: value['reference'] ?? null,
      resource: follow(oracle, value, 'Organization', (found) => pick(found, ['id', 'name'])),
    })),
    generalPractitioner: many(seen['generalPractitioner'], (value) => ({
      reference: value['reference'] ?? null,
      resource: follow(oracle, value, 'Practitioner', (found) => ({
        ...pick(found, ['id', 'gender']),
        name: namesOf(found),
      })),
    })),
    ObservationList: referring(oracle, 'Observation', 'subject', seen).map((id) =>
      pick(oracle.see('search', 'Observation', id) as unknown as Json, ['id', 'status']),
    ),
    finals: referring(oracle, 'Observation', 'subject', seen)
      .filter((id) => oracle.search('Observation', FINAL_SUBJECT(seen)).includes(id))
      .map((id) => ({ id })),
    ObservationConnection: { count: referring(oracle, 'Observation', 'subject', seen).length },
    EncounterList: referring(oracle, 'Encounter', 'patient', seen).map((id) => ({ id })),
  }),
  Observation: (oracle, seen) => ({
    ...pick(seen, ['resourceType', 'id', 'status', 'valueString']),
    code: one(seen['code'], codeOf),
    valueQuantity: one(seen['valueQuantity'], (value) => pick(value, ['value', 'code'])),
    component: many(seen['component'], (part) => ({
      ...pick(part, ['valueString']),
      code: one(part['code'], (code) => ({ coding: many(code['coding'], (coding) => pick(coding, ['code'])) })),
      valueQuantity: one(part['valueQuantity'], (value) => pick(value, ['value'])),
    })),
    encounter: one(seen['encounter'], (value) => ({
      reference: value['reference'] ?? null,
      resource: follow(oracle, value, 'Encounter', (found) => ({
        ...pick(found, ['id', 'status']),
        subject: one(found['subject'], (subject) => ({ resource: follow(oracle, subject, 'Patient', patientOf) })),
      })),
    })),
    subject: one(seen['subject'], (value) => ({
      ...pick(value, ['reference', 'display']),
      resource: follow(oracle, value, 'Patient', patientOf),
    })),
    contained: many(seen['contained'], patientOf),
  }),
  Encounter: (oracle, seen) => ({
    ...pick(seen, ['resourceType', 'id', 'status']),
    subject: one(seen['subject'], (value) => ({
      ...pick(value, ['reference']),
      resource: follow(oracle, value, 'Patient', patientOf),
    })),
    serviceProvider: one(seen['serviceProvider'], (value) => pick(value, ['reference'])),
    participant: many(seen['participant'], (part) => ({
      individual: one(part['individual'], (value) => pick(value, ['reference'])),
    })),
    ObservationList: referring(oracle, 'Observation', 'encounter', seen).map((id) => ({ id })),
  }),
  Organization: (oracle, seen) => ({
    ...pick(seen, ['resourceType', 'id', 'name']),
    partOf: one(seen['partOf'], (value) => ({
      ...pick(value, ['reference']),
      resource: follow(oracle, value, 'Organization', (found) => pick(found, ['id', 'name'])),
    })),
    PatientList: referring(oracle, 'Patient', 'organization', seen).map((id) => ({ id })),
  }),
  Practitioner: (oracle, seen) => ({
    ...pick(seen, ['resourceType', 'id', 'gender']),
    name: namesOf(seen),
    PatientList: referring(oracle, 'Patient', 'general-practitioner', seen).map((id) => ({ id })),
  }),
  RelatedPerson: (oracle, seen) => ({
    ...pick(seen, ['resourceType', 'id']),
    name: namesOf(seen),
    patient: one(seen['patient'], (value) => ({
      ...pick(value, ['reference']),
      resource: follow(oracle, value, 'Patient', patientOf),
    })),
  }),
};

function patientOf(seen: Json): Json {
  const named = seen['name'] === undefined ? null : (seen['name'] as readonly Json[]).filter((name) => name['given']);
  return {
    ...pick(seen, ['resourceType', 'id', 'gender', 'birthDate']),
    name: namesOf(seen),
    named: named?.map((name) => pick(name, ['family'])) ?? null,
    telecom: many(seen['telecom'], (point) => pick(point, ['system', 'value'])),
    contact: many(seen['contact'], (contact) => ({
      name: one(contact['name'], (name) => pick(name, ['family', 'given'])),
      ...pick(contact, ['gender']),
    })),
  };
}

function namesOf(seen: Json): unknown {
  return many(seen['name'], (name) => pick(name, ['family', 'given']));
}

function codeOf(code: Json): Json {
  return { coding: many(code['coding'], (coding) => pick(coding, ['code', 'display'])) };
}

function FINAL_SUBJECT(patient: Json) {
  const id = String(patient['id']);
  return {
    kind: 'and',
    of: [
      { kind: 'match', parameter: 'status', test: { kind: 'token', code: 'final' } },
      { kind: 'match', parameter: 'subject', test: { kind: 'reference', types: ['Patient'], id } },
    ],
  } as const;
}

function referring(oracle: Oracle, type: SampleType, parameter: string, seen: Json): readonly string[] {
  return oracle.referring(type, parameter, { type: String(seen['resourceType']), id: String(seen['id']) });
}

function follow(oracle: Oracle, value: Json, type: SampleType, answer: (found: Json) => unknown): unknown {
  const [named, id] = typeof value['reference'] === 'string' ? value['reference'].split('/') : [];
  if (named === undefined || id === undefined || !(named in IDS)) return null;
  const found = oracle.see('read', named, id);
  if (found === undefined) return null;
  return named === type ? answer(found as unknown as Json) : {};
}

function one(value: unknown, answer: (value: Json) => unknown): unknown {
  return value === undefined ? null : answer(value as Json);
}

function many(value: unknown, answer: (value: Json) => unknown): unknown {
  return value === undefined ? null : (value as readonly Json[]).map(answer);
}

/** Elements by name, null if they are absent. */
function pick(source: Json, names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, source[name] ?? null]));
}
