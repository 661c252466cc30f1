// The generated module beside this file (`npm run definitions`); model/definition-types.ts describes the values.
import type { DefinitionTexts } from './model/definition-types.js';

export declare const version: DefinitionTexts['version'];
export declare const resources: DefinitionTexts['resources'];
export declare const types: DefinitionTexts['types'];
export declare const targets: DefinitionTexts['targets'];
export declare const codes: DefinitionTexts['codes'];
export declare const parameters: DefinitionTexts['parameters'];
export declare const patientCompartment: DefinitionTexts['patientCompartment'];
export declare const summary: NonNullable<DefinitionTexts['summary']>;
/** Of the other exports without the summary: `contentFingerprint` of a `FhirModel`. */
export declare const contentFingerprint: string;
/** Of the model that they make. */
export declare const fingerprint: string;
export declare const typesFingerprint: string;
