import { isCaller } from '../access/caller.js';
import { type AccessTrace, tracedBy } from '../access/access-trace.js';
import { guardStore } from '../access/guarded-store.js';
import { audited } from '../access/operation.js';
import { versionView } from '../access/read/version-view.js';
import { inTurn } from '../access/turns/in-turn.js';
import type { AuditFacts } from '../audit/audit.js';
import { FhirError, maskError, reportError } from '../fhir/error.js';
import { sameJsonText } from '../fhir/json/copy-json.js';
import type { AnyResource } from '../fhir/resource.js';
import { type LiveEvent, withoutVersion } from '../live/live-event.js';
import { type LiveBatch, LiveFeed } from '../live/live-feed.js';
import { liveItems, positionsOf } from '../live/live-items.js';
import { LiveStream } from '../live/live-stream.js';
import {
  assertStore,
  type FhirGraphqlContext,
  type QueryDocument,
  resolveContext,
  type TypedContext,
  type TypedServiceRequest,
} from './context.js';
import { hashOfPrepared, type RequestedDocument } from './documents/documents.js';
import type { FhirGraphqlResult } from './execute-fhir-graphql.js';
import { executeChange } from './execute/execute-plan.js';
import { documentError, requestError } from './execute/response-errors.js';
import { searchRequest } from './execute/search-request.js';
import { selectedElements } from './execute/selected-elements.js';
import { withDefaults } from './limits.js';
import { planFor, type PlannedOperation } from './plan/plan-cache.js';
import type { ChangesField } from './plan/plan.js';
import { DocumentErrors } from './prepared-document.js';
import { deadlineOf, type PreparedRequest, prepareRequest, runOptionsOf } from './prepare-request.js';

/** Where a subscription begins. */
export interface SubscriptionStart {
  /** The `extensions.position` of a result, to continue after it with the same rights. Default: the position at the call. */
  readonly after?: string | undefined;
}

/** The results of a subscription: one for each event. */
export type FhirGraphqlResults<Data = { [key: string]: unknown }> = AsyncGenerator<
  FhirGraphqlResult<Data>,
  undefined,
  undefined
>;

/**
 * Subscribes to the matches of a search, like graphql-js's `subscribe`: `subscription { ObservationChanges(patient: "p1") {
 * event id resource { status } } }`. Each result has one event and `extensions.position`. An `update` comes if the selection
 * can show that something differs which the caller may see.
 *
 * The subscription begins at the call. What ends it is the last result: its error has the code of signing in, if the caller
 * could not sign in any more, or `reset`. It ends without one by the signal, with the reader's loop, and when the store is
 * closed. See `Repository.subscribe`, which has the same rules.
 *
 * @param typedContext as for `executeFhirGraphql`, and `after`; `signal` ends the subscription, `limits` hold for each event
 * @returns one result with errors if the subscription cannot begin
 * @throws TypeError only for host errors: no store in the context
 *
 * @example
 * const results = await subscribeFhirGraphql('subscription { TaskChanges(owner: "Practitioner/1") { event id } }', context);
 * if (Symbol.asyncIterator in results) for await (const { data } of results) show(data);
 */
export async function subscribeFhirGraphql<Data = { [key: string]: unknown }, Variables = { [name: string]: unknown }>(
  query: QueryDocument<Data, Variables>,
  typedContext: (TypedContext<NoInfer<Variables>> | TypedServiceRequest<NoInfer<Variables>>) & SubscriptionStart,
): Promise<FhirGraphqlResults<Data> | FhirGraphqlResult<Data>> {
  const context = resolveContext(typedContext as FhirGraphqlContext);
  assertStore(context, 'subscribeFhirGraphql');
  const { after } = typedContext;
  // The subscription begins now, before its document is read.
  const begun = after ?? positionNow(context);
  try {
    const subscription = await prepared(query, context);
    return open(subscription, begun) as FhirGraphqlResults<Data>;
  } catch (error) {
    const failed = error instanceof DocumentErrors ? new FhirError('invalid', error.message) : maskError(error);
    reportError(failed, context.onError);
    // Recorded like a query that fails.
    await audited(context, 'graphql', () => Promise.reject(failed)).catch(() => undefined);
    const errors = error instanceof DocumentErrors ? error.errors.map(documentError) : [requestError(failed)];
    return { errors };
  }
}

function positionNow({ store, caller }: FhirGraphqlContext): Promise<string> | undefined {
  if (!isCaller(caller) || store.changes === undefined) return undefined;
  const position = LiveFeed.of(store, caller.project).now();
  position.catch(() => undefined);
  return position;
}

/** A planned subscription. */
interface Subscription {
  readonly context: FhirGraphqlContext;
  readonly request: PreparedRequest;
  readonly planned: PlannedOperation;
  readonly field: ChangesField;
}

/** @throws DocumentErrors, FhirError */
async function prepared(query: RequestedDocument, context: FhirGraphqlContext): Promise<Subscription> {
  const deadline = deadlineOf(context);
  try {
    const request = await prepareRequest(query, context, deadline, ['subscription']);
    const { document, operation, variables, limits } = request;
    const planned = planFor(document, operation, variables, limits);
    const [field] = planned.plan.root.fields;
    if (field?.kind !== 'changes') throw new FhirError('invalid', 'The subscription selects no field');
    return { context, request, planned, field };
  } finally {
    deadline.close();
  }
}

function open(subscription: Subscription, begun: string | Promise<string> | undefined): FhirGraphqlResults {
  const { context, request, planned, field } = subscription;
  const { store, caller, signal, limits } = context;
  const { document, operation } = request;
  const deadline = deadlineOf(context);
  const options = runOptionsOf(request, context, deadline, guardStore(store, caller), planned.selections);
  const { query } = searchRequest(field.search, undefined, options);
  deadline.close();
  const view = versionView(store.model, caller, query);
  const shown = (resource: AnyResource): object =>
    selectedElements(field.search.shape.selection, withoutVersion(resource));
  const conditions = document.conditions.map((name) => request.variables[name]);
  const stream = new LiveStream({
    ...{ store, caller, view, signal, limits },
    after: view.project === caller.project || typeof begun === 'string' ? begun : undefined,
    shows: JSON.stringify([document.number, operation.name?.value, conditions]),
    differs: (known, current) => !sameJsonText(shown(known), shown(current)),
  });
  return liveItems<FhirGraphqlResult>(stream, {
    show: (batch) => answerBatch({ ...subscription, context: { ...context, caller: stream.caller } }, batch),
    last: (error) => {
      reportError(error, context.onError);
      return { errors: [requestError(error)] };
    },
  });
}

/** One result for each event, and one audit record for all. */
function answerBatch(subscription: Subscription, batch: LiveBatch): Promise<readonly FhirGraphqlResult[]> {
  const { context, request } = subscription;
  return audited(context, 'graphql', async (record: AuditFacts) => {
    const trace = tracedBy(context, record);
    const positions = positionsOf(batch.events, batch);
    const results: FhirGraphqlResult[] = [];
    for (const [index, event] of batch.events.entries()) {
      const extensions = { position: positions[index]! };
      results.push({ ...(await answerEvent(subscription, event, trace)), extensions });
    }
    record.document = hashOfPrepared(request.document, request.source);
    const types = new Set([subscription.field.type, ...(trace?.types ?? [])]);
    record.targets = [...types].map((type) => ({ type }));
    record.storeCalls = trace?.calls ?? 0;
    return results;
  });
}

async function answerEvent(
  { context, request, planned }: Subscription,
  event: LiveEvent,
  trace: AccessTrace | undefined,
): Promise<FhirGraphqlResult> {
  const { store, caller, signal } = context;
  const { timeout, concurrency } = withDefaults(context.limits);
  if (event.resource !== undefined) trace?.origins.set(event.resource, event.stored!);
  try {
    return await inTurn({ store, caller, signal, concurrency, timeout }, async (waited) => {
      const deadline = deadlineOf(context, waited);
      try {
        const guarded = guardStore(store, caller, { trace });
        const options = runOptionsOf(request, context, deadline, guarded, planned.selections, { trace });
        const { data, errors, isLost } = await executeChange(planned.plan, event, options);
        return { ...(data === null && !isLost ? {} : { data }), ...(errors.length === 0 ? {} : { errors }) };
      } finally {
        deadline.close();
      }
    });
  } catch (error) {
    const known = maskError(error);
    if (known.code === 'aborted') throw known;
    reportError(known, context.onError);
    return { errors: [requestError(known)] };
  }
}
