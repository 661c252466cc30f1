import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import type { CodeNames } from '../schema/code-names.js';
import type { Argument } from './arguments.js';

/** The arguments of a repeating element. See https://hl7.org/fhir/R4/graphql.html#filtering. */
export interface ElementFilter {
  readonly element: ElementDefinition;
  readonly equals: readonly ElementEquality[];
  readonly fhirpath: Argument | undefined;
  readonly offset: Argument | undefined;
  readonly count: Argument | undefined;
}

export interface ElementEquality {
  readonly name: string;
  readonly value: Argument;
  /** The codes of an element with an enum; absent for other values. */
  readonly codes?: CodeNames;
}
