import type { Bundle, BundleEntry, Parameters, ParametersParameter, Resource } from '@medplum/fhirtypes';
import { extensionsOf } from '../fhir/own-extensions.js';
import { referenceTo, urlBelow } from '../fhir/reference.js';
import { type AnyResource, elementsOf, isJsonObject } from '../fhir/resource.js';
import { randomId } from '../platform/crypto.js';
import type { DeliveryState } from './delivery-state.js';
import type { LiveEvent } from '../live/live-event.js';

// The forms for R4 of http://hl7.org/fhir/uv/subscriptions-backport/STU1.1.

const GUIDE = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/';

/** How much of a resource a notification has. */
export type PayloadContent = 'empty' | 'id-only' | 'full-resource';

/**
 * The content that a Subscription asks for.
 *
 * @returns undefined for a code that the guide does not define. Without a code, R4 decides: a payload means the resource
 */
export function payloadContent(channel: { readonly [name: string]: unknown }): PayloadContent | undefined {
  const payload = channel['_payload'];
  const [stated] = isJsonObject(payload) ? extensionsOf(payload, `${GUIDE}backport-payload-content`) : [];
  const code = stated?.['valueCode'] ?? (channel['payload'] === undefined ? 'empty' : 'full-resource');
  return (['empty', 'id-only', 'full-resource'] as const).find((known) => known === code);
}

/** What the parts of a notification say about the Subscription. */
interface StatusFacts {
  readonly subscription: AnyResource;
  readonly state: Pick<DeliveryState, 'number'>;
  /** Without a trailing slash. */
  readonly baseUrl: string | undefined;
}

/** The kind of a notification, or of an answer of `$status`. */
type StatusType = 'handshake' | 'event-notification' | 'query-status';

/** The entry about the Subscription: the first of each notification, and the answer of `$status`. */
export function statusEntry(
  { subscription, state, baseUrl }: StatusFacts,
  type: StatusType,
  event: readonly ParametersParameter[] = [],
): BundleEntry<Parameters> & { readonly resource: Parameters } {
  const id = randomId();
  const { status, error } = elementsOf(subscription);
  const errors = typeof error === 'string' ? [{ name: 'error', valueCodeableConcept: { text: error } }] : [];
  const resource: Parameters = {
    resourceType: 'Parameters',
    id,
    meta: { profile: [`${GUIDE}backport-subscription-status-r4`] },
    parameter: [
      {
        name: 'subscription',
        valueReference: { reference: urlBelow(baseUrl, referenceTo('Subscription', subscription.id!)) },
      },
      // Absent where it is hidden from the caller of `$status`.
      ...(typeof status === 'string' ? [{ name: 'status', valueCode: status }] : []),
      { name: 'type', valueCode: type },
      { name: 'events-since-subscription-start', valueString: String(state.number) },
      ...event,
      ...errors,
    ],
  };
  return { fullUrl: `urn:uuid:${id}`, resource };
}

/** A notification Bundle: of one event, or the handshake. */
export function notificationBundle(
  facts: StatusFacts,
  content: PayloadContent,
  type: string,
  event: LiveEvent | undefined,
): Bundle {
  const { subscription, baseUrl } = facts;
  const url = urlBelow(baseUrl, `${referenceTo('Subscription', subscription.id!)}/$status`);
  const status = statusEntry(
    facts,
    event === undefined ? 'handshake' : 'event-notification',
    event && [eventParameter(facts, content, type, event)],
  );
  return {
    resourceType: 'Bundle',
    id: randomId(),
    meta: { profile: [`${GUIDE}backport-subscription-notification-r4`] },
    type: 'history',
    timestamp: new Date().toISOString(),
    entry: [
      { ...status, request: { method: 'GET', url }, response: { status: '200' } },
      ...(event === undefined || content === 'empty' ? [] : [eventEntry(baseUrl, content, type, event)]),
    ],
  };
}

function eventParameter(
  { state, baseUrl }: StatusFacts,
  content: PayloadContent,
  type: string,
  { id, resource }: LiveEvent,
): ParametersParameter {
  const { lastUpdated } = resource?.meta ?? {};
  const focus = { name: 'focus', valueReference: { reference: urlBelow(baseUrl, referenceTo(type, id)) } };
  return {
    name: 'notification-event',
    part: [
      { name: 'event-number', valueString: String(state.number) },
      ...(lastUpdated === undefined ? [] : [{ name: 'timestamp', valueInstant: lastUpdated }]),
      ...(content === 'empty' ? [] : [focus]),
    ],
  };
}

function eventEntry(
  baseUrl: string | undefined,
  content: PayloadContent,
  type: string,
  { event, id, resource }: LiveEvent,
): BundleEntry {
  const reference = referenceTo(type, id);
  return {
    ...(baseUrl === undefined ? {} : { fullUrl: urlBelow(baseUrl, reference) }),
    ...(content === 'full-resource' && resource !== undefined ? { resource: resource as Resource } : {}),
    ...{
      enter: { request: { method: 'POST', url: type }, response: { status: '201' } } as const,
      update: { request: { method: 'PUT', url: reference }, response: { status: '200' } } as const,
      leave: { request: { method: 'DELETE', url: reference }, response: { status: '204' } } as const,
    }[event],
  };
}
