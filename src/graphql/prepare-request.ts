import type { FhirModel } from '../fhir/model/fhir-model.js';
import { assertCaller } from '../access/caller.js';
import type { GuardedStore } from '../access/contract.js';
import { FhirError } from '../fhir/error.js';
import { parseReference } from '../fhir/reference.js';
import { loadFhirPath } from '../fhirpath/library.js';
import type { ReferenceTarget } from '../store/resource-key.js';
import type { Observer } from '../telemetry/observer.js';
import { observerOf } from '../telemetry/with-telemetry.js';
import { type Dialect, parseDialect } from './dialect.js';
import type { DocumentText } from './documents/documents.js';
import { findDocument, type FoundDocument, type RequestedDocument } from './documents/find-document.js';
import type { FhirGraphqlContext } from './context.js';
import type { RunOptions } from './execute/run.js';
import { coerceLongVariables, coerceRequestVariables } from './coerce-variables.js';
import type { CoercedVariables } from './graphql-js-validation.js';
import { GraphQLError, type OperationDefinitionNode } from './graphql-js.js';
import { withDefaults, type Limits } from './limits.js';
import { assertVariablesSize } from './measure-variables.js';
import type { Variables } from './plan/arguments.js';
import type { TypedSelections } from './plan/typed-selections.js';
import { prepareDocument } from './prepare-document.js';
import { DocumentErrors, type PreparedDocument } from './prepared-document.js';
import { modelWithHost } from './schema/host/compile-host-fields.js';
import { QUERY } from './schema/fields.js';

/** A valid request, ready for planning. */
export interface PreparedRequest {
  /** The document as it was given or found. */
  readonly source: DocumentText;
  readonly document: PreparedDocument;
  readonly operation: OperationDefinitionNode;
  /** Coerced to their declared types. */
  readonly variables: Variables;
  readonly limits: Limits;
  readonly dialect: Dialect;
  /** The instance the query is executed on; undefined for the whole service. */
  readonly focus: ReferenceTarget | undefined;
}

/**
 * Parses and validates a request, chooses its operation and coerces its variables.
 *
 * @returns a promise only if it has to wait; usually the document is cached
 * @throws DocumentErrors - the document is malformed or does not fit the schema, or the variables do not fit it
 * @throws FhirError `unauthenticated`, `invalid`, `unsupported`, and what {@link findDocument} throws
 * @throws LimitError
 */
export function prepareRequest(
  query: RequestedDocument,
  context: FhirGraphqlContext,
  observer?: Observer,
): PreparedRequest | Promise<PreparedRequest> {
  assertCaller(context.caller);
  const limits = withDefaults(context.limits);
  const dialect = parseDialect(context.dialect);
  const focus = parseFocus(context.store.model, context.focus);
  const prepare = (found: FoundDocument): PreparedDocument | Promise<PreparedDocument> => {
    const model = modelWithHost(context.store.model, context);
    const prepared = prepareDocument(model, found.document, limits, dialect, focus?.type ?? QUERY, observer);
    return found.keep === undefined ? prepared : kept(prepared, found.keep);
  };
  const complete = (source: DocumentText, document: PreparedDocument): PreparedRequest | Promise<PreparedRequest> => {
    const operation = chooseOperation(document, context.operationName);
    assertCarriedOut(operation, focus, context);
    const definitions = operation.variableDefinitions ?? [];
    const inputs = variablesObject(context.variables);
    const measured = assertVariablesSize(inputs, limits);
    const coerced =
      measured === undefined
        ? coerceRequestVariables(document, definitions, inputs)
        : measured.then(() => coerceLongVariables(document, definitions, inputs));
    const request = { source, document, operation, limits, dialect, focus };
    if (coerced instanceof Promise || document.usesFhirPath) return withVariables(request, coerced);
    return { ...request, variables: valuesOf(request, coerced) };
  };
  const found = findDocument(query, context.documents, limits, { signal: context.signal });
  if (found instanceof Promise) {
    return found.then(async (one) => complete(one.document, await prepare(one)));
  }
  const prepared = prepare(found);
  if (prepared instanceof Promise) return prepared.then((document) => complete(found.document, document));
  return complete(found.document, prepared);
}

async function kept(
  prepared: PreparedDocument | Promise<PreparedDocument>,
  keep: NonNullable<FoundDocument['keep']>,
): Promise<PreparedDocument> {
  const document = await prepared;
  await keep();
  return document;
}

async function withVariables(
  request: Omit<PreparedRequest, 'variables'>,
  coerced: CoercedVariables | Promise<CoercedVariables>,
): Promise<PreparedRequest> {
  const variables = valuesOf(request, await coerced);
  if (request.document.usesFhirPath) await loadFhirPath(request.document.model);
  return { ...request, variables };
}

/**
 * A variable in `@skip` or `@include` may be nullable if it has a default. Null is an error all the same. See
 * https://spec.graphql.org/September2025/#sec-Coercing-Field-Arguments.
 *
 * @throws DocumentErrors
 */
function valuesOf(
  { document, operation }: Pick<PreparedRequest, 'document' | 'operation'>,
  variables: CoercedVariables,
): Variables {
  if (variables.errors !== undefined) throw new DocumentErrors(variables.errors);
  const { values } = variables;
  const name = document.conditions.find((one) => values[one] === null);
  if (name === undefined) return values;
  const nodes = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
  const message = `Variable "$${name}" decides "@skip" or "@include" and must not be null.`;
  throw new DocumentErrors([new GraphQLError(message, nodes === undefined ? {} : { nodes })]);
}

export function runOptionsOf(
  { variables, limits, dialect }: PreparedRequest,
  context: FhirGraphqlContext,
  store: GuardedStore,
  selections: TypedSelections,
  onWrites?: RunOptions['onWrites'],
  waited?: number,
  trace?: RunOptions['trace'],
): RunOptions {
  return {
    store,
    selections,
    variables,
    limits,
    baseUrl: context.baseUrl,
    signal: context.signal,
    now: new Date(),
    dialect,
    resolveIdentifiers: context.resolveIdentifiers,
    resolveReference: context.resolveReference,
    onWrites,
    onError: context.onError,
    observer: observerOf(context.store),
    waited,
    trace,
  };
}

function variablesObject(variables: unknown): { readonly [name: string]: unknown } {
  if (variables === undefined || variables === null) return NONE;
  if (typeof variables === 'object' && !Array.isArray(variables)) return variables as { [name: string]: unknown };
  throw new FhirError('invalid', 'Variables must be an object, with the values by name');
}

const NONE = Object.freeze({});

function parseFocus(model: FhirModel, focus: string | undefined): ReferenceTarget | undefined {
  if (focus === undefined) return undefined;
  const reference = parseReference(focus);
  if (reference?.kind === 'local' && model.isResourceType(reference.type)) return reference;
  throw new FhirError('invalid', 'The focus must be Type/id, such as Patient/123');
}

/** See https://spec.graphql.org/October2021/#GetOperation(). */
function chooseOperation(document: PreparedDocument, name: string | null | undefined): OperationDefinitionNode {
  const { operations } = document;
  const chosen =
    name == null || name === ''
      ? operations.length === 1
        ? operations[0]
        : undefined
      : operations.find((operation) => operation.name?.value === name);
  if (chosen === undefined) {
    throw new FhirError(
      'invalid',
      operations.length === 0
        ? 'The document holds no operation'
        : name == null || name === ''
          ? 'The document holds several operations; name one with operationName'
          : 'The document holds no operation of the name given in operationName',
    );
  }
  return chosen;
}

function assertCarriedOut(
  { operation }: OperationDefinitionNode,
  focus: ReferenceTarget | undefined,
  { readonly }: FhirGraphqlContext,
): void {
  if (operation === 'query') return;
  if (operation !== 'mutation') throw new FhirError('unsupported', `A ${operation} cannot be executed here`);
  if (focus !== undefined)
    throw new FhirError('unsupported', 'A mutation is about the whole service, not one instance');
  if (readonly === true) {
    throw new FhirError('forbidden', 'This request may only read; send the mutation by POST', {
      details: { readonly: true },
    });
  }
}
