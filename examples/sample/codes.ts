import type { CodeableConcept, Coding, Quantity } from 'fhirgraph/types';

export const LOINC = 'http://loinc.org';
export const SNOMED = 'http://snomed.info/sct';
export const RXNORM = 'http://www.nlm.nih.gov/research/umls/rxnorm';
export const CVX = 'http://hl7.org/fhir/sid/cvx';
export const UCUM = 'http://unitsofmeasure.org';

/** A code with its display, before it becomes a Coding. */
export type Code = readonly [code: string, display: string];

export function coding(system: string, [code, display]: Code): Coding {
  return { system, code, display };
}

export function concept(system: string, code: Code): CodeableConcept {
  return { coding: [coding(system, code)], text: code[1] };
}

/** A code of HL7's own terminology. */
export function hl7(name: string, ...[code, display]: Code): Coding {
  return { system: `http://terminology.hl7.org/CodeSystem/${name}`, code, display };
}

/** @param unit UCUM code; `shown` is what people write, where that differs */
export function quantity(value: number, unit: string, shown: string = unit): Quantity {
  return { value, unit: shown, system: UCUM, code: unit };
}

/** A laboratory test: what it is called, what healthy people show. */
export interface LabTest {
  readonly code: Code;
  readonly unit: string;
  readonly low: number;
  readonly high: number;
  readonly decimals: number;
}

export interface LabPanel {
  readonly code: Code;
  readonly tests: readonly LabTest[];
}

export const LAB_PANELS: readonly LabPanel[] = [
  {
    code: ['58410-2', 'CBC panel - Blood by Automated count'],
    tests: [
      test('718-7', 'Hemoglobin [Mass/volume] in Blood', 'g/dL', 12, 17, 1),
      test('4544-3', 'Hematocrit [Volume Fraction] of Blood', '%', 36, 50, 1),
      test('6690-2', 'Leukocytes [#/volume] in Blood', '10*3/uL', 4.5, 11, 1),
      test('789-8', 'Erythrocytes [#/volume] in Blood', '10*6/uL', 4, 5.9, 2),
      test('777-3', 'Platelets [#/volume] in Blood', '10*3/uL', 150, 400, 0),
      test('787-2', 'MCV [Entitic mean volume] in Red Blood Cells', 'fL', 80, 100, 1),
    ],
  },
  {
    code: ['51990-0', 'Basic metabolic panel - Blood'],
    tests: [
      test('2345-7', 'Glucose [Mass/volume] in Serum or Plasma', 'mg/dL', 70, 110, 0),
      test('3094-0', 'Urea nitrogen [Mass/volume] in Serum or Plasma', 'mg/dL', 7, 20, 0),
      test('2160-0', 'Creatinine [Mass/volume] in Serum or Plasma', 'mg/dL', 0.6, 1.3, 2),
      test('17861-6', 'Calcium [Mass/volume] in Serum or Plasma', 'mg/dL', 8.5, 10.5, 1),
      test('2951-2', 'Sodium [Moles/volume] in Serum or Plasma', 'mmol/L', 135, 145, 0),
      test('2823-3', 'Potassium [Moles/volume] in Serum or Plasma', 'mmol/L', 3.5, 5.1, 1),
      test('2075-0', 'Chloride [Moles/volume] in Serum or Plasma', 'mmol/L', 98, 107, 0),
    ],
  },
  {
    code: ['57698-3', 'Lipid panel with direct LDL - Serum or Plasma'],
    tests: [
      test('2093-3', 'Cholesterol [Mass/volume] in Serum or Plasma', 'mg/dL', 120, 240, 0),
      test('2571-8', 'Triglyceride [Mass/volume] in Serum or Plasma', 'mg/dL', 50, 200, 0),
      test('18262-6', 'Cholesterol in LDL [Mass/volume] in Serum or Plasma by Direct assay', 'mg/dL', 50, 160, 0),
      test('2085-9', 'Cholesterol in HDL [Mass/volume] in Serum or Plasma', 'mg/dL', 35, 80, 0),
      test('4548-4', 'Hemoglobin A1c/Hemoglobin.total in Blood', '%', 4.5, 6.5, 1),
    ],
  },
];

/** A condition, whether it stays, and what is given for it. */
export interface Illness {
  readonly code: Code;
  readonly chronic: boolean;
  readonly drug?: { readonly code: Code; readonly perDay: number };
}

export const ILLNESSES: readonly Illness[] = [
  illness('59621000', 'Essential hypertension', true, ['314076', 'lisinopril 10 MG Oral Tablet'], 1),
  illness(
    '44054006',
    'Diabetes mellitus type 2',
    true,
    ['860975', 'metformin hydrochloride 500 MG Extended Release Oral Tablet'],
    2,
  ),
  illness('55822004', 'Hyperlipidemia', true, ['617311', 'atorvastatin 40 MG Oral Tablet'], 1),
  illness('195967001', 'Asthma', true, ['745752', 'albuterol 0.09 MG/ACTUAT Metered Dose Inhaler'], 4),
  illness('37796009', 'Migraine', true, ['310965', 'ibuprofen 200 MG Oral Tablet'], 2),
  illness('35489007', 'Depressive disorder', true),
  illness('162864005', 'Body mass index 30+ - obesity', true),
  illness('10509002', 'Acute bronchitis', false, ['198440', 'acetaminophen 500 MG Oral Tablet'], 3),
  illness('195662009', 'Acute viral pharyngitis', false, ['310965', 'ibuprofen 200 MG Oral Tablet'], 3),
  illness('444814009', 'Viral sinusitis', false),
  illness('65363002', 'Otitis media', false, ['308192', 'amoxicillin 500 MG Oral Tablet'], 3),
  illness('271737000', 'Anemia', false),
];

export const ALLERGIES: readonly { readonly code: Code; readonly category: 'food' | 'medication' | 'environment' }[] = [
  { code: ['91935009', 'Allergy to peanut'], category: 'food' },
  { code: ['91936005', 'Allergy to penicillin'], category: 'medication' },
  { code: ['232347008', 'Dander (animal) allergy'], category: 'environment' },
  { code: ['418689008', 'Allergy to grass pollen'], category: 'environment' },
  { code: ['300916003', 'Latex allergy'], category: 'environment' },
];

export const REACTIONS: readonly Code[] = [
  ['39579001', 'Anaphylaxis'],
  ['271807003', 'Eruption of skin'],
  ['76067001', 'Sneezing'],
];

export const VACCINES: readonly Code[] = [
  ['140', 'Influenza, seasonal, injectable, preservative free'],
  ['113', 'Td (adult) preservative free'],
  ['33', 'pneumococcal polysaccharide vaccine, 23 valent'],
  ['43', 'Hep B, adult'],
  ['121', 'zoster live'],
  ['03', 'MMR'],
];

function test(code: string, display: string, unit: string, low: number, high: number, decimals: number): LabTest {
  return { code: [code, display], unit, low, high, decimals };
}

function illness(code: string, display: string, chronic: boolean, drug?: Code, perDay = 1): Illness {
  return { code: [code, display], chronic, ...(drug === undefined ? {} : { drug: { code: drug, perDay } }) };
}
