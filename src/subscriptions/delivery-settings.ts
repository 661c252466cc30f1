import type { Bundle } from '@medplum/fhirtypes';
import type { MemberCaller } from '../access/caller.js';
import type { AuditOptions } from '../audit/audit.js';
import { FhirError } from '../fhir/error.js';
import { unknownOption } from '../fhir/messages.js';
import { assertWholeNumber } from '../fhir/whole-number.js';
import { MAX_DELAY_MS } from '../platform/runtime.js';
import { type ResourceStore, serviceBaseUrl } from '../store/store.js';

/** A notification that the host sends. */
export interface SubscriptionNotification {
  /** `handshake`: the first one, after which the Subscription is active. */
  readonly type: 'handshake' | 'event-notification';
  /** The id of the project. */
  readonly project: string;
  /** `Subscription/1`. */
  readonly subscription: string;
  /** `Subscription.channel.endpoint`: an address that a member chose, or `Bot/1`. */
  readonly endpoint: string;
  /** `Subscription.channel.payload`, a media type of JSON. */
  readonly payload: string | undefined;
  /** `Subscription.channel.header`, each `name: value`. */
  readonly header: readonly string[];
  /** The body, as the R5 backport defines it for R4. */
  readonly bundle: Bundle;
  /** The Bot, signed in, if the endpoint names one; undefined for other endpoints. */
  readonly caller: MemberCaller | undefined;
}

/** Sends a notification, and may return a promise; the signal ends the attempt. */
export type DeliverHook = (
  notification: SubscriptionNotification,
  options: { readonly signal: AbortSignal },
) => unknown;

/** When a notification is sent again. */
export interface DeliveryRetry {
  /** How often a notification is sent at most, until its Subscription gets the status `error`. Default 12. */
  readonly attempts?: number | undefined;
  /** The pause before the second attempt, in milliseconds. Each further one is twice as long, up to 10 minutes. Default 1000. */
  readonly delay?: number | undefined;
  /** How long one attempt may take, in milliseconds. Default 30,000. */
  readonly timeout?: number | undefined;
}

/** The options of {@link deliverSubscriptions}. */
export interface DeliverSubscriptionsOptions extends Pick<AuditOptions, 'audit' | 'requireAudit'> {
  readonly store: ResourceStore;
  /** Sends a notification. It failed if the function throws or rejects. */
  readonly deliver: DeliverHook;
  /** Ends the deliveries. Default: they end when the store is closed. */
  readonly signal?: AbortSignal | undefined;
  readonly retry?: DeliveryRetry | undefined;
  /** The base of the service, with which notifications have absolute URLs. Default: that of the store. */
  readonly baseUrl?: string | undefined;
}

/** The options with their defaults. */
export interface DeliverySettings extends DeliverSubscriptionsOptions {
  readonly retry: { readonly [Name in keyof DeliveryRetry]-?: number };
}

/** @throws FhirError `invalid`, `unsupported` */
export function settingsOf(options: DeliverSubscriptionsOptions): DeliverySettings {
  const { store, deliver, retry: { attempts = 12, delay = 1_000, timeout = 30_000, ...others } = {} } = options;
  assertNames(options, ['store', 'deliver', 'signal', 'retry', 'baseUrl', 'audit', 'requireAudit']);
  assertNames(others, []);
  if (typeof deliver !== 'function') throw new FhirError('invalid', 'deliver must be a function');
  if (options.requireAudit === true && options.audit === undefined) {
    throw new FhirError('invalid', 'requireAudit needs audit');
  }
  assertWholeNumber('retry.attempts', attempts, 1);
  assertWholeNumber('retry.delay', delay, 1);
  assertWholeNumber('retry.timeout', timeout, 1);
  if (store.changes === undefined) {
    throw new FhirError('unsupported', 'The store does not list its changes, so there are no subscriptions');
  }
  const retry = { attempts, delay, timeout: Math.min(timeout, MAX_DELAY_MS) };
  return { ...options, baseUrl: serviceBaseUrl(options), retry };
}

function assertNames(given: object, names: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new FhirError('invalid', unknownOption(unknown, names));
}
