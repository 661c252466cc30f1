import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { StepBudget } from '../step-budget.js';

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

/** A collection of JSON values, all of the type inferred at compile time. */
export type Items = readonly unknown[];

/** Evaluates an expression for the items it starts from (`$this`). Its reads of each item are charged. */
export type Evaluate = (self: Items, budget: StepBudget) => Items;

/** Thrown to abandon a native evaluation; fhirpath.js takes over. */
export const BAIL: unique symbol = Symbol('bail');

export const EMPTY: Items = Object.freeze([]);
export const TRUE: Items = Object.freeze([true]);
export const FALSE: Items = Object.freeze([false]);

export function bail(): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- an internal signal needs no stack trace.
  throw BAIL;
}

/**
 * An operand of logic: true, false or undefined for empty. A single non-boolean item counts as true. See
 * https://hl7.org/fhirpath/N1/#singleton-evaluation-of-collections.
 */
export function asBoolean(items: Items): boolean | undefined {
  if (items.length === 0) return undefined;
  if (items.length > 1) bail();
  return items[0] !== false;
}

export function fromBoolean(value: boolean | undefined): Items {
  return value === undefined ? EMPTY : value ? TRUE : FALSE;
}
