import { expect, test } from 'vitest';

import { FhirModel } from '../../src/fhir/model/fhir-model.js';
import { R4 } from '../../src/store.js';
import * as texts from '../../src/fhir/r4-definitions.js';
import { parameterFingerprints } from '../../src/search/index/parameter-fingerprints.js';
import { modelWith } from '../stores/models.js';

test('the fingerprint in the generated definitions is the fingerprint of their texts', () => {
  expect(R4.fingerprint).toBe(new FhirModel(texts).fingerprint);
});

test('a change of a search parameter changes only its own fingerprint', () => {
  const changed = modelWith('Patient', { gender: { expression: 'Patient.gender | Patient.contact.gender' } });
  expect(changed.fingerprint).not.toBe(R4.fingerprint);
  expect(changed.typesFingerprint).toBe(R4.typesFingerprint);
  const [before, after] = [parameterFingerprints(R4), parameterFingerprints(changed)];
  expect(after['Patient']!['gender']).not.toBe(before['Patient']!['gender']);
  const { gender: _, ...others } = after['Patient']!;
  expect(before['Patient']).toMatchObject(others);
  expect({ ...after, Patient: {} }).toEqual({ ...before, Patient: {} });
});

test('texts for people, and data that stores keep elsewhere, do not affect the fingerprint', () => {
  const before = parameterFingerprints(R4);
  expect(parameterFingerprints(modelWith('Patient', { gender: { short: 'Other words' } }))).toEqual(before);
  expect(Object.keys(before['Patient']!)).not.toContain('_id');
  expect(Object.keys(before['Patient']!)).toContain('_tag');
});

test('a change of a type changes the fingerprint of every search parameter', () => {
  const types = { ...texts.types, HumanName: texts.types['HumanName']!.replace('"family"', '"surname"') };
  const changed = parameterFingerprints(new FhirModel({ ...texts, types }));
  for (const [type, parameters] of Object.entries(parameterFingerprints(R4))) {
    for (const [code, fingerprint] of Object.entries(parameters)) {
      expect(changed[type]![code]).not.toBe(fingerprint);
    }
  }
});
