import type { Condition, MedicationRequest, Procedure } from 'fhirgraph/types';
import { earlier, type Identified, within } from './bundle.js';
import { type Code, concept, hl7, type Illness, RXNORM, SNOMED } from './codes.js';
import type { Facilities } from './facilities.js';
import type { Random } from './random.js';
import { clock, DAY, instant, MINUTE } from './time.js';
import type { Visit } from './visit.js';

/** A condition found during a visit; one that passes is resolved two weeks later. */
export function createCondition(
  random: Random,
  facilities: Facilities,
  visit: Visit,
  illness: Illness,
): Identified<Condition> {
  const { chronic, code } = illness;
  const state: Code = chronic ? ['active', 'Active'] : ['resolved', 'Resolved'];
  return {
    resourceType: 'Condition',
    id: random.uuid(),
    clinicalStatus: { coding: [hl7('condition-clinical', ...state)] },
    verificationStatus: { coding: [hl7('condition-ver-status', 'confirmed', 'Confirmed')] },
    category: [{ coding: [hl7('condition-category', 'encounter-diagnosis', 'Encounter Diagnosis')] }],
    code: concept(SNOMED, code),
    subject: within(visit.patient),
    encounter: within(visit.encounter),
    onsetDateTime: clock(visit.start),
    ...(chronic ? {} : { abatementDateTime: clock(visit.start + 14 * DAY) }),
    recordedDate: clock(visit.start),
    asserter: earlier(facilities.practitioners[visit.doctor]!),
  };
}

/** @returns undefined where nothing is given for the illness */
export function createPrescription(
  random: Random,
  facilities: Facilities,
  visit: Visit,
  illness: Illness,
  condition: Identified<Condition>,
): Identified<MedicationRequest> | undefined {
  if (illness.drug === undefined) return undefined;
  const { code, perDay } = illness.drug;
  return {
    resourceType: 'MedicationRequest',
    id: random.uuid(),
    status: illness.chronic ? 'active' : 'completed',
    intent: 'order',
    medicationCodeableConcept: concept(RXNORM, code),
    subject: within(visit.patient),
    encounter: within(visit.encounter),
    authoredOn: clock(visit.start + 15 * MINUTE),
    requester: earlier(facilities.practitioners[visit.doctor]!),
    reasonReference: [within(condition, illness.code[1])],
    dosageInstruction: [
      {
        sequence: 1,
        timing: { repeat: { frequency: perDay, period: 1, periodUnit: 'd' } },
        asNeededBoolean: !illness.chronic,
        doseAndRate: [{ doseQuantity: { value: 1 } }],
      },
    ],
    dispenseRequest: {
      validityPeriod: { start: instant(visit.start), end: instant(visit.start + 180 * DAY) },
      numberOfRepeatsAllowed: illness.chronic ? 3 : 0,
    },
  };
}

/** Going through the medication list together. */
export function createReconciliation(random: Random, facilities: Facilities, visit: Visit): Identified<Procedure> {
  return {
    resourceType: 'Procedure',
    id: random.uuid(),
    status: 'completed',
    code: concept(SNOMED, ['430193006', 'Medication reconciliation']),
    subject: within(visit.patient),
    encounter: within(visit.encounter),
    performedPeriod: { start: clock(visit.start), end: clock(visit.start + 10 * MINUTE) },
    performer: [{ actor: earlier(facilities.practitioners[visit.doctor]!) }],
  };
}
