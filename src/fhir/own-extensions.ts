import { isJsonObject, type JsonObject } from './resource.js';

/** What the URLs of this library's extensions begin with. They are names; nothing is served there. */
const BASE = 'https://fhirgraph.org/fhir/StructureDefinition/';

/** The extensions that this library defines, because R4 and Medplum have no element for what they hold. */
export const OWN_EXTENSIONS = {
  /** On a ProjectMembership, `valueInstant`: the end of an invitation that was not accepted yet. */
  invitationExpires: `${BASE}invitation-expires`,
  /** On a ProjectMembership, `valueInstant`: when the access of the member ends. */
  accessExpires: `${BASE}access-expires`,
  /** On a ProjectMembership, `valueInstant`: sessions that began at or before this time are refused. */
  sessionsNotBefore: `${BASE}sessions-not-before`,
  /** On a ProjectMembership or AccessPolicy: see `Clearance`. */
  clearance: `${BASE}clearance`,
  /** On an AuditEvent of the audit log: its place in the chain of its segment. */
  auditChain: `${BASE}audit-chain`,
  /** On an AccessPolicy, `valueBoolean` true: only emergency access activates the policy. */
  emergencyAccess: `${BASE}emergency-access`,
  /** On a Project, `valueBoolean` true: its deletion has begun, and can only be finished. */
  projectDeletion: `${BASE}project-deletion`,
} as const;

/** The extensions of a resource with this URL; malformed ones are ignored. */
export function extensionsOf(elements: JsonObject, url: string): readonly JsonObject[] {
  const { extension } = elements;
  return Array.isArray(extension) ? extension.filter((one) => isJsonObject(one) && one['url'] === url) : [];
}

/** A value for {@link withExtension}: `valueInstant` and the like, or extensions inside. */
export type ExtensionValue = JsonObject;

/**
 * The elements with these extensions in place of all that have the URL; others keep their order.
 *
 * @param values none removes them
 */
export function withExtensions<Elements extends object>(
  elements: Elements,
  url: string,
  values: readonly ExtensionValue[],
): Elements {
  const { extension, ...rest } = elements as Elements & { readonly extension?: unknown };
  const all: readonly unknown[] = Array.isArray(extension) ? extension : [];
  const others = all.filter((one) => !isJsonObject(one) || one['url'] !== url);
  const next = [...others, ...values.map((value) => ({ url, ...value }))];
  return (next.length === 0 ? rest : { ...elements, extension: next }) as Elements;
}
