import { type ErrorCode, FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { parseReference, referenceTo } from '../fhir/reference.js';
import { type AnyResource, elementsOf, isJsonObject, type JsonObject } from '../fhir/resource.js';
import type { SubscriptionNotification } from './delivery-settings.js';
import { type PayloadContent, payloadContent } from './notification.js';

/** `Subscription.channel`, checked. */
export interface RestHook extends Pick<SubscriptionNotification, 'endpoint' | 'payload' | 'header'> {
  /** The id of the Bot that the endpoint names. */
  readonly bot: string | undefined;
  readonly content: PayloadContent;
}

/** The channel of a Subscription. @throws FhirError `unsupported` - it cannot be served */
export function restHookIn(subscription: AnyResource, { baseUrl }: FhirModel): RestHook {
  const { channel } = elementsOf(subscription);
  const { type, endpoint, payload, header: given = [] }: JsonObject = isJsonObject(channel) ? channel : {};
  if (type !== 'rest-hook') throw new Unserved('unsupported', 'Only the channel type "rest-hook" is served');
  if (typeof endpoint !== 'string') throw new Unserved('unsupported', 'The channel has no endpoint');
  const named = parseReference(endpoint, baseUrl);
  const bot = named?.kind === 'local' && named.type === 'Bot' && named.version === undefined ? named.id : undefined;
  if (bot === undefined && (!URL.canParse(endpoint) || /[\s\p{Cc}]/u.test(endpoint))) {
    throw new Unserved('unsupported', 'The endpoint must be an absolute URL, or a Bot such as Bot/1');
  }
  if (payload !== undefined && !JSON_TYPE.test(String(payload))) {
    throw new Unserved('unsupported', 'The payload must be application/fhir+json');
  }
  const content = payloadContent(channel as JsonObject);
  if (content === undefined) throw new Unserved('unsupported', 'The content of the payload has an unknown code');
  const headers: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (!headers.every((one): one is string => typeof one === 'string' && HEADER.test(one))) {
    throw new Unserved('unsupported', 'Each header must be one line such as "Authorization: Bearer token"');
  }
  // All attempts share it.
  const header = Object.freeze([...headers]);
  return {
    ...{ endpoint: bot === undefined ? endpoint : referenceTo('Bot', bot), bot, header, content },
    payload: payload as string | undefined,
  };
}

/** A media type of JSON, as https://datatracker.ietf.org/doc/html/rfc9110#section-8.3.1 has it. */
const JSON_TYPE = /^application\/(?:fhir\+)?json(?:[ \t]*;[ \t]*[\w.+-]+=(?:[\w.+-]+|"[^"\\\p{Cc}]*"))*$/iu;

/** A field of https://datatracker.ietf.org/doc/html/rfc9110#section-5 without other control characters than tabs. */
const HEADER = /^[\w!#$%&'*+.^`|~-]+:(?:\t|[^\p{Cc}])*$/u;

/** Why a Subscription is not served any more, in words that all its readers may see: no values of its elements. */
export class Unserved extends FhirError {
  constructor(
    code: ErrorCode,
    message: string,
    readonly ends: 'error' | 'off' = 'error',
  ) {
    super(code, message);
  }
}
