import { type AnyResource, elementsOf, isJsonObject, type JsonObject } from './resource.js';

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
type ExtensionValue = JsonObject;

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

/** Whether callers see Medplum's additions to `meta`. */
export interface MetaChoice {
  readonly extendedMeta?: boolean | undefined;
}

/** A resource as it leaves the library: without Medplum's additions to `meta`, unless the host requested them. */
export function withChosenMeta<Resource extends AnyResource>(
  resource: Resource,
  { extendedMeta }: MetaChoice,
): Resource {
  return extendedMeta === true ? resource : withoutOwnMeta(resource);
}

/**
 * A resource without Medplum's `meta.project` and `meta.author`, which R4 does not define; the resource itself if it
 * has neither.
 */
export function withoutOwnMeta<Resource extends AnyResource>(resource: Resource): Resource {
  const { meta } = elementsOf(resource);
  if (!isJsonObject(meta) || !('project' in meta || 'author' in meta)) return resource;
  const { project: _project, author: _author, ...rest } = meta;
  if (Object.keys(rest).length > 0) return { ...resource, meta: rest };
  const { meta: _meta, ...elements } = elementsOf(resource);
  return elements as unknown as Resource;
}

/** The same for the resources in a Bundle of this library. */
export function withoutOwnMetaInside<Made extends object>(bundle: Made): Made {
  const { entry } = bundle as { readonly entry?: readonly { readonly resource?: AnyResource }[] };
  if (entry === undefined) return bundle;
  return {
    ...bundle,
    entry: entry.map((one) => (one.resource === undefined ? one : { ...one, resource: withoutOwnMeta(one.resource) })),
  };
}
