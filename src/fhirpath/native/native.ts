import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import type { Evaluate } from './collection.js';

/** A compiled expression with the static type of its items. */
export interface Native {
  readonly evaluate: Evaluate;
  /** FHIR type; literals and results are `boolean`, `string`, `decimal`. Undefined for a choice that is still open. */
  readonly type: string | undefined;
  /** Of an open choice: its typed forms, and what they are read from. */
  readonly choice?: { readonly from: Evaluate; readonly elements: readonly ElementDefinition[] };
}

/** Where an expression stands. */
export interface Place {
  readonly model: FhirModel;
  /** FHIR type of `$this`. */
  readonly type: string;
  /** True inside the parameters of a function. */
  readonly isParameter: boolean;
}
