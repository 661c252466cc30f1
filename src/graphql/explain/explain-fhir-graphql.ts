import { guardStore } from '../../access/guarded-store.js';
import { FhirError, maskError } from '../../fhir/error.js';
import { Pace } from '../../platform/pace.js';
import {
  assertStore,
  type FhirGraphqlContext,
  type QueryDocument,
  resolveContext,
  type TypedContext,
  type TypedServiceRequest,
} from '../context.js';
import type { RequestedDocument } from '../documents/documents.js';
import type { Deadline } from '../execute/deadline.js';
import { readFocus } from '../execute/execute-plan.js';
import { questionOf } from '../execute/fill-level.js';
import { documentError } from '../execute/response-errors.js';
import type { Variables } from '../plan/arguments.js';
import { estimateCost, leastCost } from '../plan/estimate-cost.js';
import { makePlan } from '../plan/plan-cache.js';
import { deadlineOf, type PreparedRequest, prepareRequest, runOptionsOf } from '../prepare-request.js';
import { DocumentErrors } from '../prepared-document.js';
import { explainEdges, type Explaining, type SharingEdges } from './explain-edge.js';
import type { ExplainedCall, ExplainedPage, ExplainedPlan, ExplainedRule } from './explained-plan.js';
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
  const options = runOptionsOf(request, context, deadline, guardStore(context.store, context.caller), selections);
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

/**
 * Formats a plan as text, a paragraph per call:
 *
 * ```text
 * 2 calls to the store on 2 levels; cost at least 2, estimated 64
 *
 * 1. PatientList: search Patient
 *    where gender = male
 *    at most 5
 *    by default for Practitioner: the project: everything
 *
 * 2. PatientList.ObservationList: search Observation by subject, once for all parents
 *    …
 * ```
 */
function planText({ calls, cut, leastCost, estimatedCost }: ExplainedPlan): string {
  const asked = calls.filter((call) => call.asked && call.kind !== 'host');
  const levels = asked.reduce((deepest, { level }) => Math.max(deepest, level), 0);
  const head = `${counted(asked.length, 'call')} to the store on ${counted(levels, 'level')}${cut ? ', and more' : ''}; cost at least ${leastCost}, estimated ${estimatedCost}`;
  return [head, ...calls.map(paragraph)].join('\n\n') + '\n';
}

function paragraph(call: ExplainedCall): string {
  const [first, ...lines] = [`${call.path}: ${headline(call)}`, ...details(call)];
  return [`${call.level}. ${first}`, ...lines.map((line) => `   ${line}`)].join('\n');
}

function headline({ kind, types, id, parameter, host }: ExplainedCall): string {
  const names = types.length === 0 ? 'any type' : types.join(', ');
  switch (kind) {
    case 'read':
      return `read ${names}/${id ?? ''}`;
    case 'search':
      return `search ${names}`;
    case 'reverse':
      return `search ${names} by ${parameter ?? 'reference'}, once for all parents`;
    case 'reference':
      return `read what the references lead to, once for all: ${names}`;
    case 'host':
      return `call the resolver of ${host?.field ?? 'the field'}, once for all parents`;
    case 'canonical':
      return `search ${names} by URL, once for all canonicals`;
    case 'identifier':
      return `search ${names} by identifier, once for all logical references`;
  }
}

function details(call: ExplainedCall): string[] {
  const { sharedWith = [], host } = call;
  if (host !== undefined) {
    const needs = host.needs.length === 0 ? [] : [`needs ${host.needs.join(', ')}`];
    const shared = sharedWith.length === 0 ? [] : [sharedText(call.types, sharedWith)];
    return [...shared, ...needs, `costs ${host.cost} per parent`];
  }
  return [...(sharedWith.length === 0 ? [] : [sharedText(call.types, sharedWith)]), ...outcome(call)];
}

/** Maximum number of fields named for a shared call. */
const MAX_NAMED = 5;

function sharedText(types: readonly string[], fields: NonNullable<ExplainedCall['sharedWith']>): string {
  const names = fields
    .slice(0, MAX_NAMED)
    .map(({ path, id }) => (id === undefined ? path : `${path} (${types[0]}/${id})`));
  const others = fields.length - names.length;
  return `in one call with ${names.join(', ')}${others === 0 ? '' : ` and ${others} more`}`;
}

function outcome(call: ExplainedCall): string[] {
  const { criteria, sort, hiddenSort, page, warnings = [], rules, asked, fault, statements } = call;
  if (fault !== undefined) return [`fails: ${fault}`];
  if (!asked && rules.length === 0) return ['no rule grants it: the store is not asked'];
  if (!asked) return ['nothing can be found: the store is not asked'];
  return [
    ...(criteria === undefined ? [] : [`where ${criteria.text}`]),
    ...(sort === undefined || sort.length === 0 ? [] : [`sorted by ${sort.join(', ')}, then id`]),
    ...(hiddenSort === undefined ? [] : [`not sorted by ${hiddenSort.join(', ')}, which a rule hides`]),
    ...(page === undefined ? [] : [pageText(page)]),
    ...warnings.map((warning) => `broad: ${warning}`),
    ...ruleLines(rules),
    ...(statements?.length === 0 ? ['no statement is sent: nothing that it could find is stored'] : []),
    ...(statements ?? []).flatMap(({ statement, plan }) => [statement, ...plan.map((line) => `  ${line}`)]),
  ];
}

function pageText({ limit, offset, total, cursor }: ExplainedPage): string {
  const size = limit === undefined ? 'all of them' : limit === 0 ? 'none of them' : `at most ${limit}`;
  const start = cursor ? ', from a cursor' : offset === 0 ? '' : `, after the first ${offset}`;
  return `${size}${start}${total ? ', and their number' : ''}`;
}

/** One line per rule, listing all types it applies to. */
function ruleLines(rules: readonly ExplainedRule[]): string[] {
  const types = new Set(rules.map(({ type }) => type)).size;
  return [...Map.groupBy(rules, ruleText)].map(([text, alike]) =>
    alike.length === types ? text : `${alike.map(({ type }) => type).join(', ')} ${text}`,
  );
}

function ruleText({ origin, criteria, hidden, asksStore }: ExplainedRule): string {
  const without = hidden.length === 0 ? '' : `, without ${hidden.join(', ')}`;
  const search = asksStore ? '; one more search decides which' : '';
  return `by ${origin}: ${criteria}${without}${search}`;
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
