import type { Json } from '../operation.js';

/** A weight of a patient. */
export const weight = (patient: string, more: object = {}): Json => ({
  resourceType: 'Observation',
  status: 'final',
  code: { coding: [{ system: 'http://loinc.org', code: '29463-7' }] },
  subject: { reference: `Patient/${patient}` },
  ...more,
});
