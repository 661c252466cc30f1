import * as texts from './r4-definitions.js';
import { FhirModel } from './model/fhir-model.js';

/**
 * FHIR R4 (4.0.1) with Medplum's types: the model of whoever names none.
 *
 * Only public entries and the stores' constructors may fall back on it. Everything inside is given its model, so that
 * nothing can forget it; `test/frame/default-model.test.ts` lists who imports this file.
 */
export const R4 = new FhirModel(texts, texts.fingerprint);
