import type { AuditFacts } from '../audit/audit.js';
import type { AuditTarget } from '../audit/audit-record.js';
import { tracedBy } from '../access/access-trace.js';
import { audited } from '../access/operation.js';
import { timeBefore } from '../access/limits/call-limits.js';
import { inTurn } from '../access/turns/in-turn.js';
import { guardStore } from '../access/guarded-store.js';
import { maskError, type OperationOutcome, reportError } from '../fhir/error.js';
import { writeWarningOutcome } from '../fhir/write-warning.js';
import { nextTurn } from '../platform/runtime.js';
import { observerOf } from '../telemetry/with-telemetry.js';
import type { Attributes } from '../telemetry/observer.js';
import {
  assertStore,
  resolveContext,
  type FhirGraphqlContext,
  type QueryDocument,
  type TypedContext,
  type TypedServiceRequest,
} from './context.js';
import {
  hashOfPrepared,
  hashOfRequested,
  errorCodeOf,
  isClosed,
  type RequestedDocument,
} from './documents/documents.js';
import { executePlan, type Outcome } from './execute/execute-plan.js';
import { documentError, requestError, type ResponseError } from './execute/response-errors.js';
import { introspect } from './introspect/introspect.js';
import { withDefaults } from './limits.js';
import { putUnderKey, responseKey } from './plan/collect-fields.js';
import { estimateCost, leastCost } from './plan/estimate-cost.js';
import type { IntrospectionField, OperationPlan } from './plan/plan.js';
import { partsOf, planFor, type PlannedOperation } from './plan/plan-cache.js';
import { DocumentErrors } from './prepared-document.js';
import {
  deadlineOf,
  type ExecutedFacts,
  type PreparedRequest,
  prepareRequest,
  runOptionsOf,
} from './prepare-request.js';
import { assertAffordableMutation, type ForeseenCost, requestCost, type RequestCost } from './request-cost.js';

/** The GraphQL response. `data` is missing if the request failed as a whole. */
export interface FhirGraphqlResult<Data = { [key: string]: unknown }> {
  readonly data?: Data | null;
  readonly errors?: readonly ResponseError[];
  readonly extensions?: {
    /** Present with `reportCost`. */
    readonly cost?: RequestCost;
    /** Of a subscription: where to continue after this event, see `subscribeFhirGraphql`. */
    readonly position?: string;
    /** Warnings about what a mutation has written, such as a SearchParameter, which has no effect on searches. */
    readonly outcome?: OperationOutcome;
  };
}

/**
 * Executes a FHIR GraphQL query, or a mutation, which is atomic. See https://hl7.org/fhir/R4/graphql.html.
 *
 * All errors of the request or the data are returned in `errors`, each with a code and an OperationOutcome in its
 * `extensions`; a failed field is null and does not affect other fields.
 *
 * @param query the text, a parsed document, a typed document node, or the id of a document among `context.documents`
 * @param typedContext a store with options and the request, or a service of `createFhirGraphql` and the request
 * @throws TypeError only for host errors: no store in the context
 *
 * @example
 * const { data } = await executeFhirGraphql('{ Patient(id: "1") { name { family } } }', { store, caller });
 */
export async function executeFhirGraphql<Data = { [key: string]: unknown }, Variables = { [name: string]: unknown }>(
  query: QueryDocument<Data, Variables>,
  typedContext: TypedContext<NoInfer<Variables>> | TypedServiceRequest<NoInfer<Variables>>,
): Promise<FhirGraphqlResult<Data>> {
  const context = resolveContext(typedContext as FhirGraphqlContext);
  assertStore(context, 'executeFhirGraphql');
  const work = async (record: AuditFacts): Promise<FhirGraphqlResult> => {
    const trace = tracedBy(context, record);
    const facts: RequestFacts = { written: [], trace };
    return noted(await answerOrErrors(query, context, facts), query, facts, record);
  };
  try {
    return (await audited(context, 'graphql', work)) as FhirGraphqlResult<Data>;
  } catch (error) {
    return withheld(error, context) as FhirGraphqlResult<Data>;
  }
}

/** Returns the result after the record contains what it shows. */
function noted(
  result: FhirGraphqlResult,
  query: RequestedDocument,
  { written, trace, document, attributes }: RequestFacts,
  record: AuditFacts,
): FhirGraphqlResult {
  if (result.data === undefined || result.data === null) trace?.withhold();
  if (trace !== undefined) record.document = document ?? hashOfRequested(query);
  const read = [...(trace?.types ?? [])].filter((type) => !written.some((target) => target.type === type));
  record.targets = [...written, ...read.map((type) => ({ type }))];
  record.storeCalls = trace?.calls ?? 0;
  record.attributes = attributes;
  const failure = result.errors?.[0]?.extensions.code;
  record.failure = failure === undefined ? undefined : errorCodeOf(failure);
  record.written = written.length > 0 && isWritten(result.errors);
  record.unknown = result.errors?.[0]?.extensions.details?.['unknown'] === true;
  return result;
}

/** The answer to a request that failed as a whole, or whose required audit record could not be stored. */
function withheld(error: unknown, { onError }: FhirGraphqlContext): FhirGraphqlResult {
  const known = maskError(error);
  reportError(known, onError);
  return { errors: [requestError(known)] };
}

/** Facts about a request for audit and telemetry, available even if it fails. */
interface RequestFacts extends ExecutedFacts {
  document?: string;
  attributes?: Attributes;
}

async function answerOrErrors(
  query: RequestedDocument,
  context: FhirGraphqlContext,
  facts: RequestFacts,
): Promise<FhirGraphqlResult> {
  try {
    const { store, caller, signal } = context;
    const { timeout, concurrency } = withDefaults(context.limits);
    const before = timeBefore(context.limits);
    return await inTurn({ store, caller, signal, concurrency, timeout: timeout - before }, (waited) =>
      answer(query, context, facts, before + waited),
    );
  } catch (error) {
    if (error instanceof DocumentErrors) return { errors: error.errors.map(documentError) };
    return withheld(error, context);
  }
}

/**
 * The pipeline: find and check the document, coerce the variables, plan, execute, shape, respond.
 *
 * @param waited how much of the request's time has passed, in milliseconds
 */
async function answer(
  query: RequestedDocument,
  context: FhirGraphqlContext,
  facts: RequestFacts,
  waited: number,
): Promise<FhirGraphqlResult> {
  const deadline = deadlineOf(context, waited);
  try {
    const request = await prepareRequest(query, context, deadline);
    const { plan, selections } = planRequest(request, context, facts);
    // A long plan is created in one turn and executed in later ones.
    if (plan.size >= LONG_PLAN) await nextTurn();
    const asked = plan.root.fields.filter((field) => field.kind === 'introspection');
    const introspected = asked.length === 0 ? [] : await deadline.wait(introspections(asked, request, context));
    const store = guardStore(context.store, context.caller, { trace: facts.trace, profiles: context.profiles });
    const options = runOptionsOf(request, context, deadline, store, selections, facts);
    const outcome = await executePlan(plan, request.focus, options);
    const cost = context.reportCost === true ? requestCost(foreseenCost(plan, request), outcome) : undefined;
    return responseTo(outcome, introspected, cost, context, facts);
  } finally {
    deadline.close();
  }
}

/** @throws LimitError `fields`, `depth`, `cost` - of a mutation */
function planRequest(request: PreparedRequest, context: FhirGraphqlContext, facts: RequestFacts): PlannedOperation {
  const { document, operation, variables, limits, source } = request;
  const observer = observerOf(context.store);
  const planned = planFor(document, operation, variables, limits, observer);
  if (observer !== undefined) {
    facts.attributes = operationAttributes(request, planned.plan, isClosed(context.documents));
  }
  if (facts.trace !== undefined) facts.document = hashOfPrepared(document, source);
  if (operation.operation === 'mutation') {
    assertAffordableMutation(foreseenCost(planned.plan, request).estimated, limits);
  }
  return planned;
}

function foreseenCost(plan: OperationPlan, { focus, variables }: PreparedRequest): ForeseenCost {
  const isInstance = focus !== undefined;
  return { least: leastCost(plan, isInstance), estimated: estimateCost(plan, variables, isInstance) };
}

function responseTo(
  outcome: Outcome,
  introspected: Introspected,
  cost: RequestCost | undefined,
  { store }: FhirGraphqlContext,
  facts: RequestFacts,
): FhirGraphqlResult {
  const { data, errors, isLost } = outcome;
  if (observerOf(store) !== undefined) facts.attributes = { ...facts.attributes, ...outcomeAttributes(outcome) };
  if (data !== null) for (const [key, value] of introspected) putUnderKey(data, key, value);
  return {
    ...(data === null && !isLost ? {} : { data }),
    ...(errors.length === 0 ? {} : { errors }),
    ...responseExtensions(cost, isWritten(errors) ? warningsOn(facts.written) : undefined),
  };
}

/** In selections. Planning this many takes about 5 ms. */
const LONG_PLAN = 4_000;

function responseExtensions(
  cost: RequestCost | undefined,
  outcome: OperationOutcome | undefined,
): Pick<FhirGraphqlResult, 'extensions'> {
  if (cost === undefined && outcome === undefined) return {};
  return { extensions: { ...(cost === undefined ? {} : { cost }), ...(outcome === undefined ? {} : { outcome }) } };
}

/** A mutation that failed before its commit has written nothing; an error after it says so. */
function isWritten([first]: readonly ResponseError[] = []): boolean {
  return first === undefined || first.extensions.details?.['written'] === true;
}

function warningsOn(written: readonly AuditTarget[]): OperationOutcome | undefined {
  const kept = written.filter(({ interaction }) => interaction !== 'delete');
  return kept.map(({ type }) => writeWarningOutcome(type)).find((outcome) => outcome !== undefined);
}

/** Operation names are client text, so they are recorded only if the host chose all documents itself. */
function operationAttributes({ operation }: PreparedRequest, plan: OperationPlan, closed: boolean): Attributes {
  const name = closed ? operation.name?.value : undefined;
  return {
    'graphql.operation.type': operation.operation,
    ...(name === undefined ? {} : { 'graphql.operation.name': name }),
    'fhirgraph.depth': plan.depth,
  };
}

function outcomeAttributes({ storeCalls, rows, cost, errors }: Outcome): Attributes {
  return {
    'fhirgraph.store.calls': storeCalls,
    'fhirgraph.store.rows': rows,
    'fhirgraph.cost': Math.ceil(cost),
    'fhirgraph.errors': errors.length,
  };
}

/** The answers of `__schema` and `__type`, by key. */
type Introspected = readonly (readonly [key: string, value: unknown])[];

async function introspections(
  fields: readonly IntrospectionField[],
  { document, variables }: PreparedRequest,
  { introspection }: FhirGraphqlContext,
): Promise<Introspected> {
  const answers = await introspect(fields, partsOf(document, variables), variables, introspection);
  return fields.map(({ key }, index) => [responseKey(key), answers[index]]);
}
