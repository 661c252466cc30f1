import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import type { Evaluate } from './collection.js';

/** A compiled expression with the static type of its items. */
export interface Native {
  readonly evaluate: Evaluate;
  /**
   * FHIR type; literals and results are `boolean`, `string`, `decimal`. Undefined for a choice whose form is not known
   * yet.
   */
  readonly type: string | undefined;
  /** For a choice: its typed forms and the expression they are read from. */
  readonly choice?: { readonly from: Evaluate; readonly elements: readonly ElementDefinition[] };
}

/** The static context of an expression. */
export interface ExpressionContext {
  readonly model: FhirModel;
  /** FHIR type of `$this`. */
  readonly type: string;
  /** True inside the parameters of a function. */
  readonly isParameter: boolean;
}
