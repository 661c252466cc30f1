import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { Dialect } from './dialect.js';
import type { FragmentDefinitionNode, GraphQLError, OperationDefinitionNode } from './graphql-js.js';

/** A parsed and valid document. */
export interface PreparedDocument {
  /** A unique number, part of the cache key of its plans. */
  readonly number: number;
  readonly model: FhirModel;
  readonly tokens: number;
  readonly root: string;
  readonly dialect: Dialect;
  readonly operations: readonly OperationDefinitionNode[];
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Variables in `@skip` and `@include`; each combination of their values has its own plan. */
  readonly conditions: readonly string[];
  /** Whether the FHIRPath library must be loaded before execution. */
  readonly usesFhirPath: boolean;
  /** Of its text; see `hashOfPrepared`. Undefined until a record names it. */
  hash?: string;
}

/** The errors of a document that cannot be executed. */
export class DocumentErrors extends Error {
  readonly code = 'invalid';

  constructor(readonly errors: readonly GraphQLError[]) {
    super('The document is not valid');
  }
}
