import { guardStore } from '../../access/guarded-store.js';
import { FhirError, maskError } from '../../fhir/error.js';
import type { RequestedDocument } from '../documents/documents.js';
import {
  assertStore,
  resolveContext,
  type FhirGraphqlContext,
  type QueryDocument,
  type TypedContext,
  type TypedServiceRequest,
} from '../context.js';
import type { Deadline } from '../execute/deadline.js';
import { readFocus } from '../execute/execute-plan.js';
import { questionOf } from '../execute/fill-level.js';
import { Pace } from '../../platform/pace.js';
import { documentError } from '../execute/response-errors.js';
import type { Variables } from '../plan/arguments.js';
import { estimateCost, leastCost } from '../plan/estimate-cost.js';
import { makePlan } from '../plan/plan-cache.js';
import { DocumentErrors } from '../prepared-document.js';
import { deadlineOf, prepareRequest, runOptionsOf, type PreparedRequest } from '../prepare-request.js';
import { explainEdges, type Explaining, type SharingEdges } from './explain-edge.js';
import type { ExplainedCall, ExplainedPlan } from './explained-plan.js';
import { planText } from './plan-text.js';
import { edgesAtRoot, edgesBelow, type PlacedEdge } from './walk-plan.js';

/** The explanation of a query. */
export interface GraphqlExplanation {
  readonly plan: ExplainedPlan;
  /** The plan as human-readable text. */
  readonly text: string;
}

/**
 * Explains what a query would do for this caller without executing it: its store calls, the caller's access rules and
 * the store's plans. A subscription is explained as the search that it follows. It reads no data.
 *
 * The explanation shows access rules, search values and SQL: it is for operators of the service, not for its callers.
 *
 * @throws FhirError `invalid` - the document or a variable is invalid, with one issue per finding; also all errors that
 * `executeFhirGraphql` reports before execution
 * @throws TypeError - there is no store in the context
 *
 * @example
 * const { text } = await explainFhirGraphql('{ PatientList(gender: "male") { id } }', { store, caller });
 */
export async function explainFhirGraphql<Variables = { [name: string]: unknown }>(
  query: QueryDocument<unknown, Variables>,
  typedContext: TypedContext<NoInfer<Variables>> | TypedServiceRequest<NoInfer<Variables>>,
): Promise<GraphqlExplanation> {
  const context = resolveContext(typedContext as FhirGraphqlContext);
  assertStore(context, 'explainFhirGraphql');
  const deadline = deadlineOf(context);
  try {
    const request = await prepared(query, context, deadline);
    const plan = await deadline.wait(explainPlan(request, context, deadline));
    return { plan, text: planText(plan) };
  } finally {
    deadline.close();
  }
}

/** Maximum number of calls explained. */
const MAX_CALLS = 1_000;

async function explainPlan(
  request: PreparedRequest,
  context: FhirGraphqlContext,
  deadline: Deadline,
): Promise<ExplainedPlan> {
  const { document, operation, variables, limits, focus } = request;
  if (operation.operation === 'mutation') throw new FhirError('unsupported', 'Mutations cannot be explained');
  const { plan, selections } = makePlan(document, operation, variables, limits);
  const options = runOptionsOf(
    request,
    context,
    deadline,
    guardStore(context.store, context.caller, context.baseUrl),
    selections,
  );
  const explaining: Explaining = { store: context.store, options, call: deadline.options };
  const calls: ExplainedCall[] = [];
  const pace = new Pace();
  let level: readonly PlacedEdge[] =
    focus === undefined
      ? edgesAtRoot(plan.root, selections)
      : [{ edge: readFocus(plan, focus), level: 1, path: '', parent: focus.type }];
  while (level.length > 0 && calls.length < MAX_CALLS) {
    const groups = sharingEdges(level, variables);
    const explained: (readonly ExplainedCall[])[] = [];
    for (const edges of groups) {
      // A store explains statements in milliseconds, and a query has hundreds.
      if (pace.isSpent) await pace.next();
      explained.push(await explainEdges(edges, explaining));
    }
    calls.push(...explained.flat());
    // A denied call has no calls below it.
    level = groups.flatMap((edges, index) =>
      explained[index]!.some(({ asked }) => asked)
        ? edges.flatMap((placed) => edgesBelow(placed, variables, selections))
        : [],
    );
  }
  return {
    operation: operation.name?.value,
    depth: plan.depth,
    leastCost: leastCost(plan, focus !== undefined),
    estimatedCost: Math.ceil(estimateCost(plan, variables, focus !== undefined)),
    calls: calls.slice(0, MAX_CALLS),
    cut: level.length > 0 || calls.length > MAX_CALLS,
  };
}

/** Groups the edges of a level by shared call. */
function sharingEdges(level: readonly PlacedEdge[], variables: Variables): readonly SharingEdges[] {
  const groups = Map.groupBy(level, ({ edge }) => questionOf(edge, variables) ?? edge);
  return [...groups.values()] as unknown as readonly SharingEdges[];
}

async function prepared(
  query: RequestedDocument,
  context: FhirGraphqlContext,
  deadline: Deadline,
): Promise<PreparedRequest> {
  try {
    return await prepareRequest(query, context, deadline, ['query', 'subscription']);
  } catch (error) {
    if (!(error instanceof DocumentErrors)) throw maskError(error);
    const findings = error.errors.map(documentError);
    throw new FhirError('invalid', findings[0]?.message ?? error.message, {
      issues: findings.map(({ message }) => ({ code: 'invalid', diagnostics: message })),
    });
  }
}
