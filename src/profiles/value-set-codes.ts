import { type FhirModel, perModel } from '../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { getOrCreate } from '../platform/collections.js';
import { SharedSteps } from '../platform/shared-work.js';
import { definitionsByUrl, withoutVersion } from './definitions-by-url.js';

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

/** Why the codes of a value set cannot be listed. */
interface NoCodes {
  readonly reason: string;
}

/**
 * Lists the codes of a value set that the definitions have, in steps: its expansion, or its codes and complete code systems.
 * Once for all profiles that are bound to it.
 */
export function* listingCodes(model: FhirModel, url: string): Generator<void, CodeSet | NoCodes> {
  const name = withoutVersion(url);
  const steps = getOrCreate(LISTED(model), name, () => new SharedSteps(new Listing(model).listing(name)));
  return yield* steps.finishing();
}

const LISTED = perModel(() => new Map<string, SharedSteps<CodeSet | NoCodes>>());

class Unlisted extends Error {}

class Codes implements CodeSet {
  readonly systems = new Map<string, Set<string>>();
  size = 0;

  has(code: string, system: string | undefined): boolean {
    if (system !== undefined) return this.systems.get(system)?.has(code) === true;
    for (const codes of this.systems.values()) if (codes.has(code)) return true;
    return false;
  }

  add(system: string, code: string): void {
    getOrCreate(this.systems, system, () => new Set()).add(code);
    this.size += 1;
    if (this.size > MAX_CODES) throw new Unlisted(`it has more than ${MAX_CODES} codes`);
  }

  delete(system: string, code: string): void {
    this.systems.get(system)?.delete(code);
  }
}

/** Value sets that include each other several times would take time without end. */
const MAX_VISITS = 1_000;

/** Codes that are listed in one step: about 0.2 ms. */
const CODES_PER_STEP = 1_000;

class Listing {
  #visits = 0;
  #codes = 0;

  constructor(private readonly model: FhirModel) {}

  *listing(url: string): Generator<void, CodeSet | NoCodes> {
    const codes = new Codes();
    try {
      yield* this.#addValueSet(url, codes, 0);
      return codes;
    } catch (error) {
      if (error instanceof Unlisted) return { reason: error.message };
      throw error;
    }
  }

  *#addValueSet(url: string, codes: Codes, depth: number): Generator<void> {
    const valueSet = definitionsByUrl(this.model).valueSet(url);
    this.#visits += 1;
    if (this.#visits > MAX_VISITS) throw new Unlisted(`it includes more than ${MAX_VISITS} value sets`);
    if (valueSet === undefined) throw new Unlisted('its value set is not among the definitions');
    if (depth > MAX_DEPTH) throw new Unlisted(`its value sets include one another deeper than ${MAX_DEPTH} levels`);
    const { compose, expansion } = valueSet;
    const contains = isJsonObject(expansion) ? objectsOf(expansion['contains']) : [];
    if (contains.length > 0 && isComplete(expansion as JsonObject, contains))
      return yield* this.#addContained(contains, codes, 0);
    if (!isJsonObject(compose)) throw new Unlisted('its value set has neither a compose nor a complete expansion');
    for (const include of objectsOf(compose['include']))
      for (const [system, code] of yield* this.#included(include, depth)) {
        if (this.#isStepOver()) yield;
        codes.add(system, code);
      }
    for (const exclude of objectsOf(compose['exclude']))
      for (const [system, code] of yield* this.#included(exclude, depth)) {
        if (this.#isStepOver()) yield;
        codes.delete(system, code);
      }
  }

  /** Nested codes are codes of their own. */
  *#addContained(contains: readonly JsonObject[], codes: Codes, depth: number): Generator<void> {
    if (depth > MAX_CONCEPT_DEPTH) throw new Unlisted('its codes nest too deep');
    for (const { system, code, abstract, contains: inner } of contains) {
      if (this.#isStepOver()) yield;
      if (typeof code === 'string' && abstract !== true) codes.add(typeof system === 'string' ? system : '', code);
      const nested = objectsOf(inner);
      if (nested.length > 0) yield* this.#addContained(nested, codes, depth + 1);
    }
  }

  /** @returns the pairs of system and code of an include, or of an exclude */
  *#included(include: JsonObject, depth: number): Generator<void, Iterable<readonly [system: string, code: string]>> {
    if (objectsOf(include['filter']).length > 0) throw new Unlisted('its value set filters a code system');
    const others: Codes[] = [];
    for (const url of textsOf(include['valueSet'])) {
      const other = new Codes();
      yield* this.#addValueSet(url, other, depth + 1);
      others.push(other);
    }
    const { system } = include;
    if (typeof system !== 'string') return others.length === 0 ? [] : inAll(others[0]!, others.slice(1));
    const own = new Codes();
    const concepts = objectsOf(include['concept']);
    if (concepts.length === 0) yield* this.#addCodeSystem(system, own);
    for (const { code } of concepts) {
      if (this.#isStepOver()) yield;
      if (typeof code === 'string') own.add(system, code);
    }
    return inAll(own, others);
  }

  *#addCodeSystem(url: string, codes: Codes): Generator<void> {
    const system = definitionsByUrl(this.model).codeSystem(url);
    if (system === undefined) throw new Unlisted(`the code system ${url.slice(0, 200)} is not among the definitions`);
    if (system['content'] !== 'complete') throw new Unlisted('its code system is not complete');
    yield* this.#addConcepts(url, objectsOf(system['concept']), codes, 0);
  }

  *#addConcepts(url: string, concepts: readonly JsonObject[], codes: Codes, depth: number): Generator<void> {
    if (depth > MAX_CONCEPT_DEPTH) throw new Unlisted('its codes nest too deep');
    for (const { code, concept } of concepts) {
      if (this.#isStepOver()) yield;
      if (typeof code === 'string') codes.add(url, code);
      const nested = objectsOf(concept);
      if (nested.length > 0) yield* this.#addConcepts(url, nested, codes, depth + 1);
    }
  }

  #isStepOver(): boolean {
    this.#codes += 1;
    return this.#codes % CODES_PER_STEP === 0;
  }
}

const MAX_CONCEPT_DEPTH = 100;

function isComplete({ total }: JsonObject, contains: readonly JsonObject[]): boolean {
  return typeof total !== 'number' || total <= contains.length;
}

function* inAll(codes: Codes, others: readonly Codes[]): Generator<readonly [system: string, code: string]> {
  for (const [system, own] of codes.systems)
    for (const code of own) if (others.every((one) => one.has(code, system))) yield [system, code];
}

export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isJsonObject) : [];
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as unknown[]).filter((item) => typeof item === 'string') : [];
}
