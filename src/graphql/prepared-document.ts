import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { Dialect } from './dialect.js';
import type { FragmentDefinitionNode, GraphQLError, OperationDefinitionNode } from './graphql-js.js';

/** A document that was parsed and found valid. */
export interface PreparedDocument {
  /** Tells it from all others; its plans are kept by it. */
  readonly number: number;
  readonly model: FhirModel;
  readonly tokens: number;
  readonly root: string;
  readonly dialect: Dialect;
  readonly operations: readonly OperationDefinitionNode[];
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Variables that `@skip` and `@include` ask about; each combination of their truth has a plan of its own. */
  readonly conditions: readonly string[];
  /** The FHIRPath library must be loaded before a plan of it is executed. */
  readonly usesFhirPath: boolean;
}

/** A document that cannot be executed: what is wrong with it. */
export class DocumentErrors extends Error {
  readonly code = 'invalid';

  constructor(readonly errors: readonly GraphQLError[]) {
    super('The document is not valid');
  }
}
