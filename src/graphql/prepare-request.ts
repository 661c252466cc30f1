import type { AccessTrace } from '../access/access-trace.js';
import { assertCaller } from '../access/caller.js';
import type { GuardedStore } from '../access/contract.js';
import type { AuditTarget } from '../audit/audit-record.js';
import { FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { parseReference } from '../fhir/reference.js';
import { MAX_RESOURCE_DEPTH } from '../fhir/resource.js';
import { loadFhirPath } from '../fhirpath/library.js';
import type { ReferenceTarget } from '../store/resource-key.js';
import { TextBudget } from '../store/text-budget.js';
import { observerOf } from '../telemetry/with-telemetry.js';
import { coerceRequestVariables } from './coerce-variables.js';
import type { FhirGraphqlContext } from './context.js';
import { type Dialect, parseDialect } from './dialect.js';
import { type DocumentText, findDocument, type RequestedDocument } from './documents/documents.js';
import { Deadline } from './execute/deadline.js';
import type { RunOptions } from './execute/run.js';
import type { CoercedVariables } from './graphql-js-validation.js';
import { GraphQLError, type OperationDefinitionNode } from './graphql-js.js';
import { LimitError, type Limits, SIZE_PER_VALUE, withDefaults } from './limits.js';
import type { Variables } from './plan/arguments.js';
import type { TypedSelections } from './plan/plan-cache.js';
import { prepareDocument } from './prepare-document.js';
import { DocumentErrors, type PreparedDocument } from './prepared-document.js';
import { QUERY } from './schema/fields.js';
import { modelWithHost } from './schema/host/compile-host-fields.js';

type OperationKind = `${OperationDefinitionNode['operation']}`;

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
 * Finds and checks the document of a request, chooses its operation and coerces its variables.
 *
 * @param kinds the kinds of operations that the caller of this function carries out
 * @throws DocumentErrors - the document is malformed or does not fit the schema, or the variables do not fit it
 * @throws FhirError `unauthenticated`, `invalid`, `unsupported`, and what {@link findDocument} throws
 * @throws LimitError
 */
export async function prepareRequest(
  query: RequestedDocument,
  context: FhirGraphqlContext,
  deadline: Deadline,
  kinds: readonly OperationKind[] = ['query', 'mutation'],
): Promise<PreparedRequest> {
  assertCaller(context.caller);
  const limits = withDefaults(context.limits);
  const dialect = parseDialect(context.dialect);
  const focus = parseFocus(context.store.model, context.focus);
  const root = focus?.type ?? QUERY;
  const { source, document } = await deadline.wait(findChecked(query, context, limits, dialect, root));
  const operation = chooseOperation(document, context.operationName);
  assertCarriedOut(operation, focus, context, kinds);
  const inputs = variablesObject(context.variables);
  assertVariablesSize(inputs, limits);
  const coerced = await coerceRequestVariables(document, operation.variableDefinitions ?? [], inputs);
  const variables = valuesOf(document, operation, coerced);
  if (document.usesFhirPath) await loadFhirPath(document.model);
  return { source, document, operation, variables, limits, dialect, focus };
}

async function findChecked(
  query: RequestedDocument,
  context: FhirGraphqlContext,
  limits: Limits,
  dialect: Dialect,
  root: string,
): Promise<Pick<PreparedRequest, 'source' | 'document'>> {
  const { store, documents, signal } = context;
  const { document: source, keep } = await findDocument(query, documents, limits, { signal });
  const model = modelWithHost(store.model, context);
  const document = await prepareDocument(model, source, limits, dialect, root, observerOf(store));
  await keep?.();
  return { source, document };
}

/**
 * A variable in `@skip` or `@include` may be nullable if it has a default. Null is an error all the same. See
 * https://spec.graphql.org/September2025/#sec-Coercing-Field-Arguments.
 *
 * @throws DocumentErrors
 */
function valuesOf(
  document: PreparedDocument,
  operation: OperationDefinitionNode,
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

/**
 * Ends a request in time. Close it when the request is over.
 *
 * @param waited how much of the time has passed, in milliseconds
 */
export function deadlineOf({ limits, signal }: FhirGraphqlContext, waited = 0): Deadline {
  const { timeout, bytes } = withDefaults(limits);
  return new Deadline(timeout, signal, undefined, waited, new TextBudget(bytes));
}

/** Facts about a request that its execution uses and learns. */
export interface ExecutedFacts {
  /** What a mutation is about to write, and then what it has written. */
  written: readonly AuditTarget[];
  readonly trace: AccessTrace | undefined;
}

/** @param deadline its budget is what the request may read */
export function runOptionsOf(
  { variables, limits, dialect }: PreparedRequest,
  context: FhirGraphqlContext,
  deadline: Deadline,
  store: GuardedStore,
  selections: TypedSelections,
  facts: Partial<ExecutedFacts> = {},
): RunOptions {
  return {
    store,
    selections,
    variables,
    limits,
    deadline,
    now: new Date(),
    dialect,
    resolveIdentifiers: context.resolveIdentifiers,
    resolveReference: context.resolveReference,
    onWrites: (targets) => void (facts.written = targets),
    onError: context.onError,
    observer: observerOf(context.store),
    trace: facts.trace,
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
  kinds: readonly OperationKind[],
): void {
  if (!kinds.includes(operation)) {
    const hint = operation === 'subscription' ? '; it runs by subscribeFhirGraphql, over HTTP as an event stream' : '';
    throw new FhirError('unsupported', `A ${operation} cannot be executed here${hint}`);
  }
  if (operation === 'query') return;
  if (focus !== undefined)
    throw new FhirError('unsupported', `A ${operation} is about the whole service, not one instance`);
  if (operation === 'mutation' && readonly === true) {
    throw new FhirError('forbidden', 'This request may only read; send the mutation by POST', {
      details: { readonly: true },
    });
  }
}

/**
 * Rejects variables that are too large or nest too deep, before other code walks them.
 *
 * @throws LimitError `variablesSize` - see {@link Limits}; also for too many variables
 */
function assertVariablesSize(variables: object, limits: Limits): void {
  if (Object.keys(variables).length > MAX_VARIABLES) {
    const message = `There are more than ${MAX_VARIABLES} variables; send those that the query names`;
    throw new LimitError('variablesSize', MAX_VARIABLES, message);
  }
  measure(variables, MAX_RESOURCE_DEPTH + 1, { left: limits.variablesSize, limits });
}

/** Maximum number of variables; a document has room for fewer. */
const MAX_VARIABLES = 10_000;

interface Measured {
  left: number;
  readonly limits: Limits;
}

/** Counts each value before it visits its members. */
function measure(value: object, levels: number, measured: Measured): void {
  const { limits } = measured;
  if (levels === 0) throw tooLarge(limits, `nest deeper than ${MAX_RESOURCE_DEPTH} levels`);
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  const count = names?.length ?? (value as readonly unknown[]).length;
  for (let index = 0; index < count; index++) {
    const name = names?.[index];
    const inner = (value as { readonly [key: string | number]: unknown })[name ?? index];
    measured.left -= SIZE_PER_VALUE + (name?.length ?? 0) + (typeof inner === 'string' ? inner.length : 0);
    if (measured.left < 0) {
      const { variablesSize } = limits;
      throw tooLarge(limits, `hold more than ${variablesSize} characters, where each value counts ${SIZE_PER_VALUE}`);
    }
    if (typeof inner === 'object' && inner !== null) measure(inner, levels - 1, measured);
  }
}

function tooLarge({ variablesSize }: Limits, what: string): LimitError {
  return new LimitError('variablesSize', variablesSize, `The variables ${what}; send less at once`);
}
