import type { AuditFacts } from '../audit/audit.js';
import type { AuditTarget } from '../audit/audit-record.js';
import { type AccessTrace, tracedBy } from '../access/access-trace.js';
import { audited } from '../access/audited.js';
import { timeBefore } from '../access/limits/request-time.js';
import { inTurn } from '../access/turns/in-turn.js';
import { guardStore } from '../access/guarded-store.js';
import { talliedStore, type Tally } from '../access/tallied-store.js';
import { maskError } from '../fhir/error.js';
import type { OperationOutcome } from '../fhir/operation-outcome.js';
import { reportError } from '../fhir/report-error.js';
import { writeWarningOutcome } from '../fhir/write-warning.js';
import { type NowOrLater, nowOrLater, ready } from '../platform/ready.js';
import { nextTurn } from '../platform/timers.js';
import { observerOf } from '../telemetry/with-telemetry.js';
import type { Attributes } from '../telemetry/telemetry.js';
import { assertStore, resolveContext, type FhirGraphqlContext } from './context.js';
import { hashOfPrepared, hashOfRequested } from './documents/document-hash.js';
import { errorCodeOf, isClosed } from './documents/documents.js';
import type { RequestedDocument } from './documents/find-document.js';
import { executePlan, type Outcome } from './execute/execute-plan.js';
import { documentError, requestError, type ResponseError } from './execute/response-errors.js';
import { introspect } from './introspect/introspect.js';
import { withDefaults } from './limits.js';
import { putUnderKey, responseKey } from './plan/collect-fields.js';
import { estimateCost, leastCost } from './plan/estimate-cost.js';
import type { IntrospectionField } from './plan/leaf-fields.js';
import type { OperationPlan } from './plan/plan.js';
import { partsOf, planFor } from './plan-cache.js';
import { DocumentErrors } from './prepared-document.js';
import { type PreparedRequest, prepareRequest, runOptionsOf } from './prepare-request.js';
import { assertAffordableMutation, requestCost, type RequestCost } from './request-cost.js';
import type { QueryDocument, TypedContext, TypedServiceRequest } from './typed-document.js';
import { untilDeadline } from './until-deadline.js';

/** The GraphQL response. `data` is missing if the request failed as a whole. */
export interface FhirGraphqlResult<Data = { [key: string]: unknown }> {
  readonly data?: Data | null;
  readonly errors?: readonly ResponseError[];
  readonly extensions?: {
    /** Present with `reportCost`. */
    readonly cost?: RequestCost;
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
  const work = (record: AuditFacts): Promise<FhirGraphqlResult> => {
    const trace = tracedBy(context, record, context.baseUrl);
    const facts: RequestFacts = { tally: { calls: 0, types: new Set() }, written: [], trace };
    const result = answerOrErrors(query, context, facts);
    if (!(result instanceof Promise)) return ready(noted(result, query, facts, record));
    return result.then((later) => noted(later, query, facts, record));
  };
  try {
    const result = nowOrLater(audited(context, 'graphql', work));
    return (result instanceof Promise ? await result : result) as FhirGraphqlResult<Data>;
  } catch (error) {
    return withheld(error, context) as FhirGraphqlResult<Data>;
  }
}

/** Returns the result after the record contains what it shows. */
function noted(
  result: FhirGraphqlResult,
  query: RequestedDocument,
  { tally, written, trace, document, attributes }: RequestFacts,
  record: AuditFacts,
): FhirGraphqlResult {
  if (result.data === undefined || result.data === null) trace?.withhold();
  if (trace !== undefined) record.document = document ?? hashOfRequested(query);
  const read = [...tally.types].filter((type) => !written.some((target) => target.type === type));
  record.targets = [...written, ...read.map((type) => ({ type }))];
  record.storeCalls = tally.calls;
  record.attributes = attributes;
  const failure = result.errors?.[0]?.extensions.code;
  record.failure = failure === undefined ? undefined : errorCodeOf(failure);
  record.written = written.length > 0 && isWritten(result.errors);
  record.unknown = result.errors?.[0]?.extensions.details?.['unknown'] === true;
  return result;
}

/** The answer if a required audit record could not be stored. */
function withheld(error: unknown, { onError }: FhirGraphqlContext): FhirGraphqlResult {
  const known = maskError(error);
  reportError(known, onError);
  return { errors: [requestError(known)] };
}

/** Facts about a request for audit and telemetry, available even if it fails. */
interface RequestFacts {
  readonly tally: Tally;
  written: readonly AuditTarget[];
  readonly trace: AccessTrace | undefined;
  document?: string;
  attributes?: Attributes;
}

function answerOrErrors(
  query: RequestedDocument,
  context: FhirGraphqlContext,
  facts: RequestFacts,
): NowOrLater<FhirGraphqlResult> {
  const failed = (error: unknown): FhirGraphqlResult => {
    if (error instanceof DocumentErrors) return { errors: error.errors.map(documentError) };
    const known = maskError(error);
    reportError(known, context.onError);
    return { errors: [requestError(known)] };
  };
  try {
    const { store, caller, signal } = context;
    const { timeout, concurrency } = withDefaults(context.limits);
    const before = timeBefore(context.limits);
    const result = inTurn({ store, caller, signal, concurrency, timeout: timeout - before }, (waited) =>
      answer(query, context, facts, before + waited),
    );
    return result instanceof Promise ? result.catch(failed) : result;
  } catch (error) {
    return failed(error);
  }
}

/**
 * The pipeline: parse and validate, choose the operation, coerce the variables, plan, execute.
 *
 * PERF: each step takes a promise only if there is something to wait for.
 */
function answer(
  query: RequestedDocument,
  context: FhirGraphqlContext,
  facts: RequestFacts,
  waited: number,
): NowOrLater<FhirGraphqlResult> {
  const began = performance.now() - waited;
  const prepared = prepareRequest(query, context, observerOf(context.store));
  if (!(prepared instanceof Promise)) return answerPrepared(prepared, context, facts, began);
  return untilDeadline(prepared, context, began).then((request) => answerPrepared(request, context, facts, began));
}

function answerPrepared(
  request: PreparedRequest,
  context: FhirGraphqlContext,
  facts: RequestFacts,
  began: number,
): NowOrLater<FhirGraphqlResult> {
  const observer = observerOf(context.store);
  const { plan, selections } = planFor(
    request.document,
    request.operation,
    request.variables,
    request.limits,
    observer,
  );
  if (observer !== undefined) facts.attributes = operationAttributes(request, plan, isClosed(context.documents));
  if (facts.trace !== undefined) facts.document = hashOfPrepared(request.document, request.source);
  const store = guardStore(context.store, context.caller, context.baseUrl, facts.trace, context.profiles);
  const watched = context.audit === undefined ? store : talliedStore(store, facts.tally);
  const onWrites = (targets: readonly AuditTarget[]): void => void (facts.written = targets);
  const asked = plan.root.fields.filter((field) => field.kind === 'introspection');
  const isInstance = request.focus !== undefined;
  const estimate = (): number => estimateCost(plan, request.variables, isInstance);
  const execute = (about: Introspected): NowOrLater<FhirGraphqlResult> => {
    const spent = performance.now() - began;
    const runOptions = runOptionsOf(request, context, watched, selections, onWrites, spent, facts.trace);
    if (request.operation.operation === 'mutation') assertAffordableMutation(estimate(), request.limits);
    const outcome = executePlan(plan, request.focus, runOptions);
    return outcome instanceof Promise ? outcome.then((later) => respond(later, about)) : respond(outcome, about);
  };
  const respond = (outcome: Outcome, about: Introspected): FhirGraphqlResult => {
    if (observer !== undefined) facts.attributes = { ...facts.attributes, ...outcomeAttributes(outcome) };
    const { data, errors, isLost } = outcome;
    if (data !== null) for (const [key, value] of about) putUnderKey(data, key, value);
    return {
      ...(data === null && !isLost ? {} : { data }),
      ...(errors.length === 0 ? {} : { errors }),
      ...responseExtensions({
        cost:
          context.reportCost === true
            ? requestCost({ least: leastCost(plan, isInstance), estimated: estimate() }, outcome)
            : undefined,
        outcome: isWritten(errors) ? warningsOn(facts.written) : undefined,
      }),
    };
  };
  // A long plan is created in one turn and executed in later ones.
  if (asked.length === 0 && plan.size < LONG_PLAN) return execute([]);
  return asked.length === 0
    ? untilDeadline(nextTurn(), context, began).then(() => execute([]))
    : untilDeadline(introspections(asked, request, context), context, began).then(execute);
}

/** In selections. Planning this many takes about 5 ms. */
const LONG_PLAN = 4_000;

type Introspected = readonly (readonly [key: string, value: unknown])[];

function responseExtensions(facts: {
  readonly cost: RequestCost | undefined;
  readonly outcome: OperationOutcome | undefined;
}): Pick<FhirGraphqlResult, 'extensions'> {
  const { cost, outcome } = facts;
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

async function introspections(
  fields: readonly IntrospectionField[],
  { document, variables }: PreparedRequest,
  { introspection }: FhirGraphqlContext,
): Promise<Introspected> {
  const answers = await introspect(fields, partsOf(document, variables), variables, introspection);
  return fields.map(({ key }, index) => [responseKey(key), answers[index]]);
}
