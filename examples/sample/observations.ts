import type { DiagnosticReport, Observation, Quantity } from 'fhirgraph/types';
import { earlier, type Identified, within } from './bundle.js';
import { type Code, concept, hl7, type LabPanel, type LabTest, LOINC, quantity, SNOMED } from './codes.js';
import type { Facilities } from './facilities.js';
import type { Random } from './random.js';
import { clock, HOUR, instant, MINUTE } from './time.js';
import type { Visit } from './visit.js';

/** What stays with a body from visit to visit. */
export interface Body {
  /** Centimetres. */
  readonly height: number;
  /** Kilograms at the first visit. */
  readonly weight: number;
  /** Kilograms per visit. */
  readonly gain: number;
  /** Millimetres of mercury. */
  readonly systolic: number;
  readonly smoker: boolean;
}

export function createBody(random: Random): Body {
  return {
    height: random.around(169, 10, 1),
    weight: random.around(74, 12, 1),
    gain: random.around(0.1, 0.4, 2),
    systolic: random.around(124, 12),
    smoker: random.chance(0.2),
  };
}

/** @param number of the visit, from 0 */
export function vitalSigns(
  random: Random,
  visit: Visit,
  body: Body,
  number: number,
): readonly Identified<Observation>[] {
  const weight = Number((body.weight + body.gain * number + random.around(0, 0.5, 1)).toFixed(1));
  const bmi = Number((weight / (body.height / 100) ** 2).toFixed(2));
  const measured = (code: Code, value: Quantity): Identified<Observation> => ({
    ...observation(random, visit, 'vital-signs', code),
    valueQuantity: value,
  });
  return [
    measured(['8302-2', 'Body height'], quantity(body.height, 'cm')),
    measured(['29463-7', 'Body weight'], quantity(weight, 'kg')),
    measured(['39156-5', 'Body mass index (BMI) [Ratio]'], quantity(bmi, 'kg/m2')),
    bloodPressure(random, visit, body),
    measured(['8867-4', 'Heart rate'], quantity(random.around(74, 9), '/min')),
    measured(['9279-1', 'Respiratory rate'], quantity(random.around(15, 2), '/min')),
    measured(['8310-5', 'Body temperature'], quantity(random.around(36.8, 0.4, 1), 'Cel', '°C')),
    ...(number % 5 === 0 ? [smokingStatus(random, visit, body)] : []),
  ];
}

/** One observation with two components and no value of its own. */
function bloodPressure(random: Random, visit: Visit, body: Body): Identified<Observation> {
  const systolic = random.around(body.systolic, 7);
  const component = (code: Code, value: number): NonNullable<Observation['component']>[number] => ({
    code: concept(LOINC, code),
    valueQuantity: quantity(value, 'mm[Hg]', 'mmHg'),
  });
  return {
    ...observation(random, visit, 'vital-signs', ['85354-9', 'Blood pressure panel with all children optional']),
    component: [
      component(['8480-6', 'Systolic blood pressure'], systolic),
      component(['8462-4', 'Diastolic blood pressure'], Math.round(systolic * 0.64)),
    ],
  };
}

function smokingStatus(random: Random, visit: Visit, body: Body): Identified<Observation> {
  const code: Code = body.smoker ? ['77176002', 'Smoker'] : ['266919005', 'Never smoked tobacco'];
  return {
    ...observation(random, visit, 'social-history', ['72166-2', 'Tobacco smoking status']),
    valueCodeableConcept: concept(SNOMED, code),
  };
}

/** A report and the results it refers to. */
export function labReport(
  random: Random,
  facilities: Facilities,
  visit: Visit,
  panel: LabPanel,
): readonly [Identified<DiagnosticReport>, ...Identified<Observation>[]] {
  const results = panel.tests.map((test) => labResult(random, facilities, visit, test));
  const report: Identified<DiagnosticReport> = {
    resourceType: 'DiagnosticReport',
    id: random.uuid(),
    status: 'final',
    category: [{ coding: [hl7('v2-0074', 'LAB', 'Laboratory')] }],
    code: concept(LOINC, panel.code),
    subject: within(visit.patient),
    encounter: within(visit.encounter),
    effectiveDateTime: clock(visit.start + 10 * MINUTE),
    issued: instant(visit.start + 5 * HOUR),
    performer: [earlier(facilities.laboratory, facilities.laboratory.name)],
    resultsInterpreter: [earlier(facilities.practitioners[visit.doctor]!)],
    result: results.map((result) => within(result, result.code.text)),
  };
  return [report, ...results];
}

function labResult(random: Random, facilities: Facilities, visit: Visit, test: LabTest): Identified<Observation> {
  const { low, high, unit, decimals } = test;
  const value = random.around((low + high) / 2, (high - low) / 3.5, decimals);
  const flag: Code = value < low ? ['L', 'Low'] : value > high ? ['H', 'High'] : ['N', 'Normal'];
  return {
    ...observation(random, visit, 'laboratory', test.code),
    performer: [earlier(facilities.laboratory, facilities.laboratory.name)],
    valueQuantity: quantity(value, unit),
    interpretation: [{ coding: [hl7('v3-ObservationInterpretation', ...flag)] }],
    referenceRange: [{ low: quantity(low, unit), high: quantity(high, unit) }],
  };
}

function observation(random: Random, visit: Visit, category: string, code: Code): Identified<Observation> {
  return {
    resourceType: 'Observation',
    id: random.uuid(),
    status: 'final',
    category: [{ coding: [hl7('observation-category', category, CATEGORY_NAMES[category] ?? category)] }],
    code: concept(LOINC, code),
    subject: within(visit.patient),
    encounter: within(visit.encounter),
    effectiveDateTime: clock(visit.start + 5 * MINUTE),
    issued: instant(visit.start + 6 * MINUTE),
  };
}

const CATEGORY_NAMES: { readonly [code: string]: string } = {
  'vital-signs': 'Vital Signs',
  'social-history': 'Social History',
  laboratory: 'Laboratory',
};
