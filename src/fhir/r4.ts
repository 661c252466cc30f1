import * as texts from './r4-definitions.js';
import { FhirModel } from './model/fhir-model.js';

/**
 * FHIR R4 (4.0.1) with Medplum's types: the default model.
 *
 * Only public entries and store constructors may default to it. All other code receives its model as an argument, so
 * that no code can forget it; `test/frame/default-model.test.ts` lists the files that may import this one.
 */
export const R4 = new FhirModel(texts, texts.contentFingerprint, texts.fingerprint, texts.typesFingerprint);
