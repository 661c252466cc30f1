import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { type AnyResource, elementsOf } from '../../fhir/resource.js';
import { sha256Of } from '../../platform/crypto.js';
import type { Criteria } from '../../search/criteria/criteria.js';
import { parseSearch } from '../../search/parse/parse-search.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { Caller, MemberCaller } from '../caller.js';
import { decide } from '../decide.js';
import type { Narrowing } from '../narrowing.js';
import { type VersionView, versionView } from '../read/version-view.js';
import { termsOf } from '../sign-in/session.js';
import type { AddedWrite } from './ready-write.js';

/** On which terms the member who wrote a Subscription had signed in: the Subscription acts on the same ones. */
export interface SubscriptionAuthor {
  /** The id of the ProjectMembership. */
  readonly membership: string;
  /** Its user: the id of a membership can be given to another one. */
  readonly user: string;
  /** The revocations before the session, see `SessionTerms`: a later one ends the Subscription. */
  readonly accepted: string | undefined;
  /** When it was written, an instant: a later revocation of the sessions of its Bot ends the Subscription. */
  readonly written: string;
  readonly requirePolicy: boolean;
  readonly narrowings: readonly Narrowing[];
}

/**
 * The scope of the records of Subscriptions. An id never contains a slash, so no caller has this project. Each Subscription
 * has two records under the same id:
 *
 * | type | content |
 * |---|---|
 * | Basic | where the Subscription is, and its {@link SubscriptionAuthor}; each write or deletion of it rewrites the record, so the feed of the scope lists it |
 * | Parameters | how far its notifications are: see `DeliveryState` |
 */
export const SUBSCRIPTIONS = '/subscriptions';

/** The key of a record of a Subscription. */
export function recordKey(type: 'Basic' | 'Parameters', { project, id }: Omit<ResourceKey, 'type'>): ResourceKey {
  return { project: SUBSCRIPTIONS, type, id: sha256Of(JSON.stringify([project, id])) };
}

/** The writes of the records that accompany a written or deleted Subscription. */
export function subscriptionWrites(
  written: ResourceKey,
  from: number,
  caller: Caller,
  isDeleted: boolean,
): readonly AddedWrite[] {
  const key = recordKey('Basic', written);
  const identifier = [{ system: recordSystem(written.project), value: written.id }];
  const subscriptionAuthor = caller.kind === 'member' ? JSON.stringify(authorFrom(caller)) : undefined;
  const resource = { resourceType: key.type, id: key.id, identifier, subscriptionAuthor } as AnyResource;
  const record: AddedWrite = { role: 'added', write: { kind: 'put', key, resource }, from };
  if (!isDeleted) return [record];
  // Another Subscription under the id begins at 1, whether or not a process delivers in between.
  return [record, { role: 'added', write: { kind: 'delete', key: recordKey('Parameters', written) }, from }];
}

function authorFrom(caller: MemberCaller): SubscriptionAuthor {
  const { requirePolicy = false, accepted } = termsOf(caller) ?? {};
  return {
    ...{ membership: caller.membership, user: caller.user, accepted, requirePolicy },
    written: new Date().toISOString(),
    narrowings: caller.narrowings ?? [],
  };
}

/** The author in a record; undefined if no member wrote the Subscription, but trusted code. */
export function recordedAuthor(record: AnyResource): SubscriptionAuthor | undefined {
  const { subscriptionAuthor: text } = elementsOf(record);
  return typeof text === 'string' ? (JSON.parse(text) as SubscriptionAuthor) : undefined;
}

function recordSystem(project: string): string {
  return `urn:fhirgraph:project:${project}`;
}

/** The records of a project. */
export function recordsOf(project: string): Criteria {
  return { kind: 'match', parameter: 'identifier', test: { kind: 'token', system: recordSystem(project) } };
}

/** The Subscription of a record. */
export function recordedKey(record: AnyResource): ResourceKey {
  const [{ system, value }] = elementsOf(record)['identifier'] as [{ system: string; value: string }];
  return { project: system.slice(recordSystem('').length), type: 'Subscription', id: value };
}

/**
 * What a Subscription follows, as its author sees it.
 *
 * @throws FhirError `invalid`, `unsupported`, `too-costly` - the criteria cannot be followed; see {@link versionView}
 * @throws FhirError `forbidden` - the author may not search the type
 */
export function subscriptionView(model: FhirModel, caller: Caller, criteria: unknown): VersionView {
  const [, type = '', query = ''] = /^(\w+)(?:\?(.*))?$/s.exec(String(criteria)) ?? [];
  if (!model.isResourceType(type)) {
    throw new FhirError('invalid', 'The criteria must be a search such as Observation?status=final');
  }
  const { criteria: parsed, ...pages } = parseSearch(model, type, query);
  if (Object.keys(pages).length > 0) {
    throw new FhirError('unsupported', 'The criteria take no order and no pages');
  }
  if (decide(caller, type, 'search') === null) {
    throw new FhirError('forbidden', `The author may not search ${type}`);
  }
  return versionView(model, caller, { type, criteria: parsed });
}

/**
 * Rejects a Subscription that a member writes and that could never be active. A Subscription that is `off` may be anything.
 *
 * @param kept elements that the member cannot see or did not send, and that stay as they are
 * @throws FhirError `forbidden` - it would act in the name of a member who does not know what it does
 * @throws FhirError `unprocessable` - a status that only the service sets, or criteria that the member cannot follow
 */
export function assertSubscriptionWrite(
  caller: MemberCaller,
  subscription: AnyResource,
  kept: ReadonlySet<string>,
): void {
  const { status, criteria } = elementsOf(subscription);
  if (status === 'off' && !kept.has('status')) return;
  const unseen = ['status', 'criteria', 'channel'].find((name) => kept.has(name));
  if (unseen !== undefined) {
    throw new FhirError(
      'forbidden',
      `Not allowed to write this Subscription: it acts in the name of its writer, who must see and send its ${unseen}`,
    );
  }
  if (status !== 'requested') {
    const message =
      'The service alone sets the status of a Subscription; clients write "requested" to activate it, also after a change, or "off"';
    throw refused('status', message);
  }
  try {
    subscriptionView(caller.rules.model, caller, criteria);
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    throw refused('criteria', `The Subscription cannot be served. ${error.message}`, error);
  }
}

function refused(element: string, message: string, cause?: FhirError): FhirError {
  return new FhirError('unprocessable', message, {
    issues: [{ code: 'business-rule', diagnostics: message, expression: [`Subscription.${element}`] }],
    cause,
  });
}
