import type { FhirModel } from '../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { definitionsByUrl } from './definitions-by-url.js';
import { getOrCreate } from '../platform/maps.js';

/** Codes with their systems. */
export interface CodeSet {
  /** @param system undefined if none is given: any system counts */
  has(code: string, system: string | undefined): boolean;
  readonly size: number;
}

/** Maximum number of codes in a value set; larger ones are not checked. */
const MAX_CODES = 100_000;
/** Maximum nesting of value sets that include each other. */
const MAX_DEPTH = 10;

/**
 * The codes of a value set that the definitions list: its expansion, or its codes and complete code systems.
 *
 * @returns the reason where they cannot be listed
 */
export function codesOfValueSet(model: FhirModel, url: string): CodeSet | { readonly reason: string } {
  try {
    const codes = new Codes();
    addValueSet({ model, visits: 0 }, url, codes, 0);
    return codes;
  } catch (error) {
    if (error instanceof Unlisted) return { reason: error.message };
    throw error;
  }
}

class Unlisted extends Error {}

/** One listing. Value sets that include each other several times would take time without end. */
interface Listing {
  readonly model: FhirModel;
  visits: number;
}

const MAX_VISITS = 1_000;

class Codes implements CodeSet {
  readonly #systems = new Map<string, Set<string>>();
  readonly #codes = new Set<string>();
  size = 0;

  has(code: string, system: string | undefined): boolean {
    return system === undefined ? this.#codes.has(code) : this.#systems.get(system)?.has(code) === true;
  }

  add(system: string, code: string): void {
    const codes = getOrCreate(this.#systems, system, () => new Set());
    codes.add(code);
    this.#codes.add(code);
    this.size += 1;
    if (this.size > MAX_CODES) throw new Unlisted(`it has more than ${MAX_CODES} codes`);
  }

  delete(other: Codes): void {
    for (const [system, codes] of other.#systems) for (const code of codes) this.#systems.get(system)?.delete(code);
    this.#codes.clear();
    for (const codes of this.#systems.values()) for (const code of codes) this.#codes.add(code);
  }

  addAll(other: Codes, of?: readonly Codes[]): void {
    for (const [system, codes] of other.#systems) {
      for (const code of codes) if (of?.every((one) => one.has(code, system)) !== false) this.add(system, code);
    }
  }
}

function addValueSet(listing: Listing, url: string, codes: Codes, depth: number): void {
  const valueSet = definitionsByUrl(listing.model).valueSet(url);
  listing.visits += 1;
  if (listing.visits > MAX_VISITS) throw new Unlisted(`it includes more than ${MAX_VISITS} value sets`);
  if (valueSet === undefined) throw new Unlisted('its value set is not among the definitions');
  if (depth > MAX_DEPTH) throw new Unlisted(`its value sets include one another deeper than ${MAX_DEPTH} levels`);
  const { compose, expansion } = valueSet;
  const contains = isJsonObject(expansion) ? objectsOf(expansion['contains']) : [];
  if (contains.length > 0 && isComplete(expansion as JsonObject, contains)) return addContained(contains, codes, 0);
  if (!isJsonObject(compose)) throw new Unlisted('its value set has neither a compose nor a complete expansion');
  for (const include of objectsOf(compose['include'])) codes.addAll(codesOfInclude(listing, include, depth));
  for (const exclude of objectsOf(compose['exclude'])) codes.delete(codesOfInclude(listing, exclude, depth));
}

function isComplete({ total }: JsonObject, contains: readonly JsonObject[]): boolean {
  return typeof total !== 'number' || total <= contains.length;
}

/** Nested codes are codes of their own. */
function addContained(contains: readonly JsonObject[], codes: Codes, depth: number): void {
  if (depth > MAX_CONCEPT_DEPTH) throw new Unlisted('its codes nest too deep');
  for (const { system, code, abstract, contains: inner } of contains) {
    if (typeof code === 'string' && abstract !== true) codes.add(typeof system === 'string' ? system : '', code);
    addContained(objectsOf(inner), codes, depth + 1);
  }
}

const MAX_CONCEPT_DEPTH = 100;

function codesOfInclude(listing: Listing, include: JsonObject, depth: number): Codes {
  if (objectsOf(include['filter']).length > 0) throw new Unlisted('its value set filters a code system');
  const found = new Codes();
  const others = textsOf(include['valueSet']).map((url) => {
    const other = new Codes();
    addValueSet(listing, url, other, depth + 1);
    return other;
  });
  const { system } = include;
  if (typeof system === 'string') {
    const own = new Codes();
    const concepts = objectsOf(include['concept']);
    if (concepts.length === 0) addCodeSystem(listing.model, system, own);
    for (const { code } of concepts) if (typeof code === 'string') own.add(system, code);
    found.addAll(own, others);
  } else if (others.length > 0) found.addAll(others[0]!, others.slice(1));
  return found;
}

function addCodeSystem(model: FhirModel, url: string, codes: Codes): void {
  const system = definitionsByUrl(model).codeSystem(url);
  if (system === undefined) throw new Unlisted(`the code system ${url.slice(0, 200)} is not among the definitions`);
  if (system['content'] !== 'complete') throw new Unlisted('its code system is not complete');
  const add = (concepts: readonly JsonObject[], depth: number): void => {
    if (depth > MAX_CONCEPT_DEPTH) throw new Unlisted('its codes nest too deep');
    for (const { code, concept } of concepts) {
      if (typeof code === 'string') codes.add(url, code);
      add(objectsOf(concept), depth + 1);
    }
  };
  add(objectsOf(system['concept']), 0);
}

export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isJsonObject) : [];
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as unknown[]).filter((item) => typeof item === 'string') : [];
}
