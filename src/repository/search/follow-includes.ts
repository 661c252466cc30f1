import type { GuardedKey } from '../../access/contract.js';
import { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import { keyText, referenceTo } from '../../fhir/reference.js';
import { type AnyResource, elementsOf, isJsonObject } from '../../fhir/resource.js';
import { ALL, or } from '../../search/criteria/criteria.js';
import { compilePath } from '../../search/index/element-path.js';
import type { IndexEntry } from '../../search/index/index-entry.js';
import { indexEntries } from '../../search/index/index-resource.js';
import { walkPlaces } from '../../search/index/places.js';
import { valueTraits } from '../../search/index/value-traits.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchPage } from '../../store/search-query.js';
import type { RepositorySession } from '../repository.js';
import { type Include, includesFrom } from './include.js';
import {
  type CanonicalTarget,
  findCanonicals,
  findIdentified,
  logicalReferences,
  type LogicalTarget,
  tooManyIncluded,
} from './indirect-references.js';

/** Most resources that a page may contain in addition to its matches. */
const MAX_INCLUDED = 1000;
/** Maximum number of levels of `:iterate`. */
const MAX_LEVELS = 10;
/** Maximum number of rows that the first call for a reverse include reads. */
const FIRST_ROWS = 10_000;

/**
 * The included resources of a page, as the caller sees them: references in fields that are hidden from it lead nowhere,
 * and resources hidden from it are absent.
 *
 * Level by level, with one store call for all references of a level, one for each type that canonicals of a level lead to,
 * and one or two for each reverse include.
 *
 * @returns each resource once, none of them a match
 * @throws FhirError `too-costly` - more than 1000 resources, or 10 levels
 */
export async function followIncludes(
  includes: readonly Include[],
  matches: readonly AnyResource[],
  session: RepositorySession,
): Promise<readonly AnyResource[]> {
  const run = new IncludeRun(matches, session);
  const again = includes.filter(({ iterate }) => iterate);
  let edges = includes;
  let from = matches;
  for (let level = 1; from.length > 0 && edges.length > 0; level += 1) {
    if (level > MAX_LEVELS) {
      throw new FhirError(
        'too-costly',
        `":iterate" leads over more than ${MAX_LEVELS} levels; search in several requests`,
      );
    }
    const before = run.found.length;
    await run.followForward(from, edges);
    for (const edge of edges) if (edge.direction === 'reverse') await run.followReverse(from, edge);
    from = run.found.slice(before);
    edges = again;
  }
  return run.found;
}

class IncludeRun {
  readonly found: AnyResource[] = [];
  /** The resources, and versions named by references, that were matched, included or not found. */
  readonly #seen: Set<string>;
  /** The versions that were included. */
  readonly #included = new Set<string>();

  constructor(
    matches: readonly AnyResource[],
    private readonly session: RepositorySession,
  ) {
    this.#seen = new Set(matches.flatMap((one) => [keyOf(one), versionOf(one)]));
  }

  async followForward(from: readonly AnyResource[], edges: readonly Include[]): Promise<void> {
    const keys: GuardedKey[] = [];
    const canonicals: CanonicalTarget[] = [];
    const logical: LogicalTarget[] = [];
    const forward = new Map<string, readonly Include[]>();
    for (const resource of from) {
      const wanted = forward.get(resource.resourceType) ?? this.#forward(resource.resourceType, edges);
      forward.set(resource.resourceType, wanted);
      if (wanted.length === 0) continue;
      const entries = indexEntries(this.session.store.model, resource);
      const versions = new VersionsNamed(this.session, resource);
      for (const { parameter, key } of this.#references(entries)) {
        const isWanted = wanted.some((edge) => edge.parameter === parameter && (edge.target ?? key.type) === key.type);
        if (!isWanted) continue;
        for (const version of versions.of(parameter, key)) {
          const named = version === undefined ? key : { ...key, version };
          if (this.#isNew(nameOf(named))) keys.push(named);
        }
      }
      for (const edge of wanted) {
        const types = this.#typesOf(edge);
        for (const text of this.#canonicals(entries, edge)) {
          if (this.#isNew(`${types.join()} ${text}`)) canonicals.push({ text, types });
        }
        for (const target of this.#logical(resource, entries, edge, types)) {
          if (this.#isNew(JSON.stringify(target))) logical.push(target);
        }
      }
    }
    this.#assertFew(keys.length + canonicals.length + logical.length);
    if (keys.length > 0) {
      for (const result of await this.session.store.read(keys, this.session.options)) {
        if (result.status === 'found') this.#addVersion(result.resource);
      }
    }
    for (const resource of await findCanonicals(canonicals, MAX_INCLUDED, this.session)) this.#add(resource);
    for (const resource of await findIdentified(logical, MAX_INCLUDED, this.session)) this.#add(resource);
  }

  async followReverse(from: readonly AnyResource[], { source, parameter, target }: Include): Promise<void> {
    const { store } = this.session;
    const allowed = target === undefined ? store.model.searchParameter(source, parameter)?.targets : [target];
    const targets = from.filter(({ resourceType }) => allowed?.includes(resourceType) !== false).map(targetOf);
    await this.#followReverseCanonicals(from, source, parameter, allowed);
    if (targets.length === 0) return;
    const few = Math.min(MAX_INCLUDED + 1, Math.max(100, Math.ceil(FIRST_ROWS / targets.length)));
    const pages = await this.#searchFor(source, parameter, targets, few);
    for (const { matches } of pages) for (const { resource } of matches) this.#add(resource);
    const cut = targets.filter((_, index) => pages[index]!.matches.length === few);
    if (cut.length === 0) return;
    // Only few targets can have more rows, because otherwise the limit would already be exceeded.
    for (const { matches } of await this.#searchFor(source, parameter, cut, MAX_INCLUDED + 1)) {
      for (const { resource } of matches) this.#add(resource);
    }
  }

  /** Follows references by canonical URL to these resources, with their version or without a version. */
  async #followReverseCanonicals(
    from: readonly AnyResource[],
    source: string,
    parameter: string,
    allowed: readonly string[] | undefined,
  ): Promise<void> {
    const { store, options } = this.session;
    if (!this.#isCanonical(source, parameter)) return;
    const named = new Set<string>();
    const urls = new Set<string>();
    for (const resource of from) {
      const { url, version } = elementsOf(resource);
      if (typeof url !== 'string' || allowed?.includes(resource.resourceType) === false) continue;
      urls.add(url);
      named.add(url);
      if (typeof version === 'string') named.add(`${url}|${version}`);
    }
    if (urls.size === 0) return;
    const criteria = or(Array.from(urls, (url) => ({ kind: 'match', parameter, test: { kind: 'reference', url } })));
    const { matches } = await store.search({ type: source, criteria, limit: MAX_INCLUDED + 1 }, options);
    if (matches.length > MAX_INCLUDED) this.#assertFew(matches.length);
    for (const { resource } of matches) {
      const texts = this.#canonicals(indexEntries(store.model, resource), { source, parameter });
      if (texts.some((text) => named.has(text))) this.#add(resource);
    }
  }

  #searchFor(
    type: string,
    parameter: string,
    targets: readonly { readonly type: string; readonly id: string }[],
    limit: number,
  ): Promise<readonly SearchPage[]> {
    const { store, options } = this.session;
    return store.searchByReference({ type, criteria: ALL, limit }, parameter, targets, options);
  }

  /** Adds a resource that was read: a version may be the current one, which another reference leads to. */
  #addVersion(resource: AnyResource): void {
    const version = versionOf(resource);
    if (this.#included.has(version)) return;
    this.#included.add(version);
    this.found.push(resource);
  }

  /** True at the first call with this name. */
  #isNew(name: string): boolean {
    if (this.#seen.has(name)) return false;
    this.#seen.add(name);
    return true;
  }

  #add(resource: AnyResource): void {
    if (!this.#isNew(keyOf(resource))) return;
    this.#assertFew(1);
    this.#addVersion(resource);
  }

  #assertFew(more: number): void {
    if (this.found.length + more <= MAX_INCLUDED) return;
    throw tooManyIncluded(MAX_INCLUDED);
  }

  #isCanonical(type: string, code: string): boolean {
    const { model } = this.session.store;
    const definition = model.searchParameter(type, code);
    return definition !== undefined && valueTraits(model, type, definition).canonicals;
  }

  /** The canonicals under a parameter of a resource. */
  #canonicals(
    entries: readonly IndexEntry[],
    { source, parameter }: Pick<Include, 'source' | 'parameter'>,
  ): readonly string[] {
    if (!this.#isCanonical(source, parameter)) return [];
    return entries.flatMap((entry) =>
      entry.parameter === parameter && entry.group === 0 && entry.value.kind === 'reference' && 'url' in entry.value
        ? [entry.value.url]
        : [],
    );
  }

  /** The references by identifier alone under a parameter of a resource, where the host follows them. */
  #logical(
    resource: AnyResource,
    entries: readonly IndexEntry[],
    { parameter }: Include,
    types: readonly string[],
  ): readonly LogicalTarget[] {
    if (this.session.resolveIdentifiers !== true) return [];
    const tokens = entries.flatMap(({ parameter: code, group, value }) =>
      code === `${parameter}:identifier` && group === 0 && value.kind === 'token' ? [value] : [],
    );
    if (tokens.length === 0) return [];
    return logicalReferences(resource).flatMap(({ system, value, type }) => {
      if (!tokens.some((token) => token.code === value && (token.system || undefined) === system)) return [];
      return [{ system, value, types: type === undefined ? types : types.filter((one) => one === type) }];
    });
  }

  /** The includes that lead on from resources of a type, wildcards spelled out. */
  #forward(type: string, edges: readonly Include[]): readonly Include[] {
    return edges
      .filter(({ direction }) => direction === 'forward')
      .flatMap((edge) => includesFrom(this.session.store.model, type, edge));
  }

  /** The types that an include may reach. */
  #typesOf({ source, parameter, target }: Include): readonly string[] {
    const { model } = this.session.store;
    if (target !== undefined) return [target];
    return model.searchParameter(source, parameter)?.targets ?? model.resourceTypes;
  }

  /** The local references of a resource by search parameter. */
  #references(entries: readonly IndexEntry[]): { readonly parameter: string; readonly key: GuardedKey }[] {
    return entries.flatMap(({ parameter, group, value }) => {
      if (value.kind !== 'reference' || group !== 0 || 'url' in value) return [];
      return [{ parameter, key: { type: value.type, id: value.id } }];
    });
  }
}

function keyOf(resource: AnyResource): string {
  return keyText(targetOf(resource));
}

function versionOf(resource: AnyResource): string {
  return referenceTo(resource.resourceType, resource.id!, String(resource.meta?.versionId));
}

function nameOf({ type, id, version }: GuardedKey): string {
  return referenceTo(type, id, version);
}

function targetOf({ resourceType: type, id }: AnyResource): { readonly type: string; readonly id: string } {
  return { type, id: id! };
}

/** The version that a reference names; undefined: the current one. */
type Version = string | undefined;

/**
 * The versions to which the references of a resource lead. The index has the target of a reference without its version,
 * because a search ignores it, but an include brings the version. See
 * https://hl7.org/fhir/R4/search.html#revinclude.
 */
class VersionsNamed {
  readonly #container: Container;
  /** By target, of all references in the resource. */
  #all: ReadonlyMap<string, ReadonlySet<Version>> | undefined;

  constructor(
    private readonly session: RepositorySession,
    private readonly resource: AnyResource,
  ) {
    this.#container = Container.of(session.store.model, resource);
  }

  /** The versions that the references of a search parameter name of a target. */
  of(parameter: string, target: ReferenceTarget): ReadonlySet<Version> {
    const key = keyText(target);
    const all = (this.#all ??= this.#find()).get(key) ?? CURRENT;
    // Nearly no reference has a version.
    if (all.size === 1) return all;
    const { model } = this.session.store;
    const { resourceType } = this.resource;
    const path = model.searchParameter(resourceType, parameter)?.path;
    if (path === undefined) return all;
    const found = new Map<string, Set<Version>>();
    compilePath(
      model,
      resourceType,
      path,
      () => (value: unknown) => this.#add(value, this.#container, found),
    )?.(elementsOf(this.resource), undefined);
    return found.get(key) ?? all;
  }

  #find(): ReadonlyMap<string, ReadonlySet<Version>> {
    const found = new Map<string, Set<Version>>();
    walkPlaces(elementsOf(this.resource), this.#container, (element, container) => {
      this.#add(element, container, found);
    });
    return found;
  }

  #add(value: unknown, container: Container, found: Map<string, Set<Version>>): void {
    const text = isJsonObject(value) ? value['reference'] : undefined;
    const target = typeof text === 'string' ? container.resolve(text) : undefined;
    if (target?.kind !== 'local') return;
    const key = keyText(target);
    const versions = found.get(key);
    if (versions === undefined) found.set(key, new Set([target.version]));
    else versions.add(target.version);
  }
}

const CURRENT: ReadonlySet<Version> = new Set([undefined]);
