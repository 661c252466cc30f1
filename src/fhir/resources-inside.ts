import { isJsonObject, type JsonObject } from './resource.js';

/** The secrets of the data type IdentityProvider. */
const PROVIDER_SECRETS = ['identityProvider.clientSecret', 'identityProvider.userInfoApiKey'] as const;

/**
 * Element paths never readable through this library, by type. A test walks the definitions and fails if an element with
 * a secret-like name is neither listed here nor reviewed.
 */
const SECRETS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['ClientApplication', ['secret', 'retiringSecret', ...PROVIDER_SECRETS]],
  ['DomainConfiguration', PROVIDER_SECRETS],
  ['JsonWebKey', ['d', 'p', 'q', 'dp', 'dq', 'qi']],
  [
    'Login',
    [
      'code',
      'codeChallenge',
      'cookie',
      'emailMfa.codeHash',
      'nonce',
      'preAuthorizedCodeHash',
      'previousRefreshSecret',
      'refreshSecret',
    ],
  ],
  ['Project', ['secret', 'systemSecret', 'site.googleClientSecret', 'site.recaptchaSecretKey']],
  ['SmartHealthLink', ['passcodeHash']],
  ['User', ['passwordHash', 'mfaSecret']],
  ['UserSecurityRequest', ['secret']],
]);

/** The element paths of a type that are secrets. */
export function secretFields(type: string): readonly string[] {
  return SECRETS.get(type) ?? [];
}

/**
 * Elements that hold whole resources, at the first level of a resource and below it: contained resources, entries of a
 * Bundle, parts of Parameters, the output of an AsyncJob.
 */
export const INLINE_HEADS = ['contained', 'entry', 'parameter', 'output'] as const;
export const INLINE_INSIDE = ['resource', 'part', 'response', 'outcome'] as const;
/** Those of them that hold the resource itself, in addition to `contained`. */
export const INLINE_RESOURCES: ReadonlySet<string> = new Set(['resource', 'outcome', 'output']);

/** The names of the elements in which an object can hold resources. */
export function inlineNames(value: JsonObject): readonly string[] {
  return typeof value['resourceType'] === 'string' ? INLINE_HEADS : INLINE_INSIDE;
}

/**
 * A copy of a value in which resources inside that can have secrets have only their type and id; the value itself if
 * there are none.
 */
export function withoutSecretHolders(value: JsonObject): JsonObject {
  let copy: { [name: string]: unknown } | undefined;
  for (const name of inlineNames(value)) {
    const held = Object.hasOwn(value, name) ? value[name] : undefined;
    if (held === undefined) continue;
    const items: readonly unknown[] = Array.isArray(held) ? held : [held];
    const kept = items.map((item) => (isJsonObject(item) ? withoutSecret(item) : item));
    if (kept.every((item, index) => item === items[index])) continue;
    copy ??= { ...value };
    copy[name] = Array.isArray(held) ? kept : kept[0];
  }
  return copy ?? value;
}

function withoutSecret(item: JsonObject): JsonObject {
  const { resourceType, id } = item;
  if (typeof resourceType !== 'string' || secretFields(resourceType).length === 0) return withoutSecretHolders(item);
  return id === undefined ? { resourceType } : { resourceType, id };
}
