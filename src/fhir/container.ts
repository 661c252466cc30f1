import { parseReference, withoutVersion, type ParsedReference } from './reference.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from './resource.js';

/**
 * The target of a reference text, as its place decides it.
 *
 * | target | kind |
 * |---|---|
 * | the container, a contained resource, an entry of a Bundle around it | inside |
 * | a resource of this service, absolute or not | local |
 * | outside of this service | urn, foreign |
 * | none that anybody could name | nowhere |
 */
export type ResolvedReference =
  | Exclude<ParsedReference, { readonly kind: 'contained' | 'container' }>
  | { readonly kind: 'inside'; readonly resource: JsonObject; readonly container: Container }
  | NowhereReference;

/**
 * A reference without a target:
 *
 * - `contained`: no contained resource has that id.
 * - `base`: the reference is relative, and nobody states to which base.
 * - `ambiguous`: several entries have that URL.
 */
interface NowhereReference {
  readonly kind: 'nowhere';
  readonly reason: 'contained' | 'base' | 'ambiguous';
}

/** What belongs to this service: absolute URLs below its base. */
interface Service {
  readonly baseUrl?: string | undefined;
}

/** The base of relative references: a URL; undefined: the service's own base; null: nobody states it. */
type Base = string | null | undefined;

/**
 * A resource as the place of references. It decides what the references in it mean:
 *
 * ```text
 * place                                      #id            Type/id is relative to          absolute URLs
 * a stored resource                          in itself      the service                     outside
 * a contained resource                       in its container, as everything else
 * Bundle.entry.resource                      in itself      the root of its fullUrl         an entry, else outside
 *   without a fullUrl, or with a URN         in itself      nothing: it has no meaning      an entry, else outside
 * Parameters.parameter.resource              in itself      what the Parameters is          as in the Parameters
 * a resource from another server             in itself      the root of its URL             outside
 * ```
 *
 * Absolute URLs below the service's own base lead to the service, not outside. The entries of Bundles further out count
 * too. A reference with a version means the entry of that version. See
 * https://hl7.org/fhir/R4/bundle.html#references and https://hl7.org/fhir/R4/references.html#contained.
 */
export class Container {
  /** By id, once a reference needs it. */
  #contained: ReadonlyMap<unknown, JsonObject> | undefined;
  #entries: BundleEntries | undefined;

  private constructor(
    private readonly service: Service,
    /** The outermost resource, which does not lie inside another. */
    readonly root: AnyResource,
    /** The resource that `#` means, and in which `#id` is resolved. */
    readonly resource: JsonObject,
    private readonly base: Base,
    private readonly outer: BundleEntries | undefined,
    private readonly bundle: JsonObject | undefined,
    /** The URL that names the resource: of an entry its `fullUrl`, without a version. */
    readonly url: string | undefined,
  ) {}

  /**
   * @param service the definitions of the store
   * @param url of a resource from another server; omitted: the resource belongs to this service
   */
  static of(service: Service, root: AnyResource, url?: string): Container {
    const elements = elementsOf(root);
    const base = url === undefined ? undefined : rootOf(url);
    return new Container(service, root, elements, base, undefined, bundleIn(elements), url);
  }

  /** The service's own base URL. */
  get baseUrl(): string | undefined {
    return this.service.baseUrl;
  }

  /** The place of a resource directly inside this one that is not contained: of an entry, or of a parameter. */
  within(resource: JsonObject): Container {
    const known = this.bundle === undefined ? undefined : this.entries?.containerOf(resource);
    return (
      known ?? new Container(this.service, this.root, resource, this.base, this.entries, bundleIn(resource), undefined)
    );
  }

  /** The place of a contained resource, in which references mean what they mean in its container. */
  withinContained(resource: JsonObject): Container {
    const bundle = bundleIn(resource);
    if (bundle === undefined) return this;
    return new Container(this.service, this.root, this.resource, this.base, this.entries, bundle, undefined);
  }

  /**
   * Resolves the text of a reference.
   *
   * @param likely types that references to this service probably have
   * @returns undefined for text that is not a reference
   */
  resolve(text: string, likely?: readonly string[]): ResolvedReference | undefined {
    const parsed = parseReference(text, this.baseUrl, likely);
    if (parsed === undefined) return undefined;
    if (parsed.kind === 'container') return { kind: 'inside', resource: this.resource, container: this };
    if (parsed.kind === 'contained') return this.#resolveContained(parsed.id);
    const { entries, base } = this;
    // Nearly all resources are stored by themselves.
    if (base === undefined && entries === undefined) return parsed;
    const url = this.absolute(text);
    const found = entries?.find(url);
    if (found !== undefined) return found;
    if (base === undefined || !isRelative(text)) return parsed;
    if (base === null) return { kind: 'nowhere', reason: 'base' };
    return parseReference(url, this.baseUrl) as Exclude<ResolvedReference, { kind: 'inside' | 'nowhere' }> | undefined;
  }

  /** The type of a reference's target inside; undefined if the target is elsewhere. */
  typeInside(text: string): string | undefined {
    const target = this.resolve(text);
    const type = target?.kind === 'inside' ? target.resource['resourceType'] : undefined;
    return typeof type === 'string' ? type : undefined;
  }

  /** The reference as an absolute URL, if it is relative to a URL. */
  absolute(reference: string): string {
    const { base } = this;
    return typeof base === 'string' && isRelative(reference) ? `${base}/${reference}` : reference;
  }

  /** The place of an entry, which `entries` has. */
  ofEntry(resource: JsonObject, fullUrl: unknown, entries: BundleEntries): Container {
    const url = typeof fullUrl === 'string' ? withoutVersion(fullUrl) : undefined;
    return new Container(this.service, this.root, resource, rootOf(fullUrl), entries, bundleIn(resource), url);
  }

  #resolveContained(id: string): ResolvedReference {
    this.#contained ??= byId(this.resource['contained']);
    const resource = this.#contained.get(id);
    if (resource === undefined) return { kind: 'nowhere', reason: 'contained' };
    return { kind: 'inside', resource, container: this.withinContained(resource) };
  }

  /** The entries that a reference may name. */
  private get entries(): BundleEntries | undefined {
    if (this.bundle === undefined) return this.outer;
    return (this.#entries ??= new BundleEntries(this, this.bundle, this.outer));
  }
}

interface Entry {
  readonly kind: 'inside';
  readonly resource: JsonObject;
  readonly container: Container;
  readonly version: unknown;
}

/** The entries of a Bundle by URL, and those of the Bundles around it. */
class BundleEntries {
  readonly #byUrl = new Map<string, Entry[]>();
  readonly #containers = new Map<JsonObject, Container>();

  constructor(
    bundle: Container,
    { entry: entries }: JsonObject,
    private readonly outer: BundleEntries | undefined,
  ) {
    for (const entry of Array.isArray(entries) ? (entries as readonly unknown[]) : []) {
      if (!isJsonObject(entry) || !isJsonObject(entry['resource'])) continue;
      const { fullUrl, resource } = entry;
      const isRepeated = this.#containers.has(resource);
      // If one object is in two entries, nobody can tell from which of them its references come.
      const container = bundle.ofEntry(resource, isRepeated ? undefined : fullUrl, this);
      this.#containers.set(resource, container);
      if (typeof fullUrl !== 'string') continue;
      const { meta } = resource;
      const url = withoutVersion(fullUrl);
      const version = (isJsonObject(meta) ? meta['versionId'] : undefined) ?? versionIn(fullUrl, url);
      const found: Entry = { kind: 'inside', resource, container, version };
      const same = this.#byUrl.get(url);
      if (same === undefined) this.#byUrl.set(url, [found]);
      else same.push(found);
    }
  }

  containerOf(resource: JsonObject): Container | undefined {
    return this.#containers.get(resource);
  }

  /** The entry that a reference names, in the innermost Bundle that has it. */
  find(reference: string): ResolvedReference | undefined {
    const url = withoutVersion(reference);
    const version = versionIn(reference, url);
    const same = this.#byUrl.get(url) ?? [];
    const found = version === undefined ? same : same.filter((one) => one.version === version);
    const [first] = found;
    if (first === undefined) return this.outer?.find(reference);
    return found.every((one) => one.resource === first.resource) ? first : { kind: 'nowhere', reason: 'ambiguous' };
  }
}

function bundleIn(resource: JsonObject): JsonObject | undefined {
  return resource['resourceType'] === 'Bundle' ? resource : undefined;
}

function byId(contained: unknown): ReadonlyMap<unknown, JsonObject> {
  const found = new Map<unknown, JsonObject>();
  for (const one of Array.isArray(contained) ? (contained as readonly unknown[]) : []) {
    if (isJsonObject(one) && !found.has(one['id'])) found.set(one['id'], one);
  }
  return found;
}

/** References that are neither absolute nor fragments: ids have no colon. */
function isRelative(reference: string): boolean {
  return !reference.includes(':') && !reference.startsWith('#');
}

/** The base of the server that a RESTful URL names; null for other URLs. */
function rootOf(url: unknown): string | null {
  return (typeof url === 'string' ? RESTFUL.exec(url)?.[1] : undefined) ?? null;
}

const RESTFUL = /^(https?:\/\/.+)\/[A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64}(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/;

/** The version in a URL; undefined if it has none. */
function versionIn(url: string, unversioned: string): string | undefined {
  return url === unversioned ? undefined : url.slice(unversioned.length + '/_history/'.length);
}
