import { Container } from '../../fhir/container.js';
import { keyText } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource } from '../../fhir/resource.js';
import { compilePath } from '../../search/index/element-path.js';
import { walkPlaces } from '../../search/index/places.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { RepositorySession } from '../repository.js';

/** The version that a reference names; undefined: the current one. */
type Version = string | undefined;

/**
 * The versions to which the references of a resource lead. The index has the target of a reference without its version,
 * because a search ignores it, but an include brings the version. See
 * https://hl7.org/fhir/R4/search.html#revinclude.
 */
export class VersionsNamed {
  readonly #container: Container;
  /** By target, of all references in the resource. */
  #all: ReadonlyMap<string, ReadonlySet<Version>> | undefined;

  constructor(
    private readonly session: RepositorySession,
    private readonly resource: AnyResource,
  ) {
    this.#container = Container.of(resource);
  }

  /** The versions that the references of a search parameter name of a target. */
  of(parameter: string, target: ReferenceTarget): ReadonlySet<Version> {
    const key = keyText(target);
    const all = (this.#all ??= this.#find()).get(key) ?? CURRENT;
    // PERF: nearly no reference has a version.
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
    const target = typeof text === 'string' ? container.resolve(text, this.session.baseUrl) : undefined;
    if (target?.kind !== 'local') return;
    const key = keyText(target);
    const versions = found.get(key);
    if (versions === undefined) found.set(key, new Set([target.version]));
    else versions.add(target.version);
  }
}

const CURRENT: ReadonlySet<Version> = new Set([undefined]);
