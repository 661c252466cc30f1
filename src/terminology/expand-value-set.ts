import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { inTurns, type Pace } from '../platform/pace.js';
import type { Concept } from '../search/criteria/criteria.js';
import type { CodeSystemConcept, CodeSystemIndex } from './code-system.js';

/** The sources of an expansion. */
interface ExpansionSources {
  /** @throws FhirError `invalid` - unknown */
  valueSet(canonical: string): Promise<JsonObject>;
  /** @throws FhirError `invalid` - unknown */
  codeSystem(canonical: string): Promise<CodeSystemIndex>;
  readonly maxConcepts: number;
  /** Used between systems and filters; it rejects when the call ends. */
  readonly pace: Pick<Pace, 'isSpent' | 'next'>;
}

/** Maximum nesting of value sets that include each other. */
const MAX_DEPTH = 10;

/** Concepts by system and code. */
type ConceptSet = Map<string, Concept>;

/**
 * The concepts of a ValueSet, in turns with other work: by its `compose`; by its stored `expansion` if it has no `compose`, or one that names code systems
 * that are not here.
 *
 * @throws FhirError `invalid` - it refers to an unknown value set or code system, or includes itself
 * @throws FhirError `unsupported` - a filter, or a code system without all of its codes
 * @throws FhirError `too-costly` - more concepts than allowed
 */
export async function expandValueSet(valueSet: JsonObject, sources: ExpansionSources): Promise<readonly Concept[]> {
  return [...(await conceptsOf(valueSet, sources, []))].map(([, concept]) => concept);
}

async function conceptsOf(
  valueSet: JsonObject,
  sources: ExpansionSources,
  within: readonly JsonObject[],
): Promise<ConceptSet> {
  if (within.includes(valueSet)) throw new FhirError('invalid', 'The value set includes itself');
  if (within.length >= MAX_DEPTH)
    throw new FhirError('unsupported', `The value set includes others more than ${MAX_DEPTH} levels deep`);
  const { compose } = valueSet;
  const stored = storedExpansion(valueSet, sources);
  if (!isJsonObject(compose)) {
    if (stored !== undefined) return stored;
    throw new FhirError('unsupported', 'The value set has neither a definition (compose) nor an expansion');
  }
  try {
    return await composed(compose, sources, [...within, valueSet]);
  } catch (error) {
    if (stored !== undefined && error instanceof FhirError && error.code === 'invalid') return stored;
    throw error;
  }
}

async function composed(
  compose: JsonObject,
  sources: ExpansionSources,
  within: readonly JsonObject[],
): Promise<ConceptSet> {
  const found: ConceptSet = new Map();
  const withInactive = compose['inactive'] !== false;
  for (const include of listOf(compose['include'])) {
    for (const [key, concept] of await included(include, sources, within, withInactive)) found.set(key, concept);
    assertFew(found.size, sources);
  }
  for (const exclude of listOf(compose['exclude'])) {
    for (const key of (await included(exclude, sources, within, true)).keys()) found.delete(key);
  }
  return found;
}

/** A system's concepts that are in all of the value sets named. */
async function included(
  { system, version, concept, filter, valueSet }: JsonObject,
  sources: ExpansionSources,
  within: readonly JsonObject[],
  withInactive: boolean,
): Promise<ConceptSet> {
  const sets: ConceptSet[] = [];
  if (typeof system === 'string') {
    const canonical = typeof version === 'string' ? `${system}|${version}` : system;
    sets.push(await ofSystem(system, canonical, { concept, filter }, sources, withInactive));
  }
  for (const canonical of Array.isArray(valueSet) ? (valueSet as readonly unknown[]) : []) {
    if (typeof canonical !== 'string') continue;
    sets.push(await conceptsOf(await sources.valueSet(canonical), sources, within));
  }
  const [first = new Map<string, Concept>(), ...others] = sets;
  return new Map([...first].filter(([key]) => others.every((other) => other.has(key))));
}

async function ofSystem(
  system: string,
  canonical: string,
  { concept, filter }: { readonly concept: unknown; readonly filter: unknown },
  sources: ExpansionSources,
  withInactive: boolean,
): Promise<ConceptSet> {
  const listed = listOf(concept);
  if (listed.length > 0) return setOf(system, listed.filter(hasCode), sources);
  const index = await sources.codeSystem(canonical);
  if (!index.isComplete)
    throw new FhirError(
      'unsupported',
      'The value set needs all codes of a code system, and not all of them are available here',
    );
  const filters = Array.isArray(filter) ? (filter as readonly unknown[]) : [];
  const passed = await inTurns(filtered(index, filters), sources.pace);
  const found = passed.filter(({ inactive }) => withInactive || !inactive);
  return setOf(system, found, sources);
}

/** Concepts may be nested. One without all of its pages says too little. */
function storedExpansion({ expansion }: JsonObject, sources: ExpansionSources): ConceptSet | undefined {
  if (!isJsonObject(expansion) || !Array.isArray(expansion['contains'])) return undefined;
  const found: ConceptSet = new Map();
  let count = 0;
  const pending = [...listOf(expansion['contains'])];
  for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
    count += 1;
    pending.push(...listOf(one['contains']));
    if (one['abstract'] === true || !hasCode(one)) continue;
    add(found, typeof one['system'] === 'string' ? one['system'] : undefined, one);
    assertFew(found.size, sources);
  }
  const { total } = expansion;
  return typeof total === 'number' && total > count ? undefined : found;
}

function setOf(
  system: string,
  concepts: readonly { readonly code: string; readonly display?: unknown }[],
  sources: ExpansionSources,
): ConceptSet {
  assertFew(concepts.length, sources);
  const found: ConceptSet = new Map();
  for (const concept of concepts) add(found, system, concept);
  return found;
}

function add(
  found: ConceptSet,
  system: string | undefined,
  { code, display }: { readonly code: string; readonly display?: unknown },
): void {
  found.set(JSON.stringify([system, code]), {
    ...(system === undefined ? {} : { system }),
    code,
    ...(typeof display === 'string' ? { display } : {}),
  });
}

function assertFew(count: number, { maxConcepts }: ExpansionSources): void {
  if (count <= maxConcepts) return;
  throw new FhirError('too-costly', `A value set has more than ${maxConcepts} codes: name a narrower one`, {
    details: { max: maxConcepts },
  });
}

function hasCode(value: JsonObject): value is JsonObject & { readonly code: string } {
  return typeof value['code'] === 'string' && value['code'] !== '';
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isJsonObject) : [];
}

/**
 * The concepts of a system that pass all filters of `ValueSet.compose.include`, in steps.
 *
 * | property | operators |
 * |---|---|
 * | `concept`, `code` | `is-a`, `descendent-of`, `is-not-a`, `generalizes`, `=`, `in`, `not-in` |
 * | `display`, any other | `=`, `in`, `not-in`, `exists` |
 *
 * @throws FhirError `unsupported` - another operator, `regex` among them
 */
function* filtered(
  system: CodeSystemIndex,
  filters: readonly unknown[],
): Generator<void, readonly CodeSystemConcept[]> {
  yield;
  let found: readonly CodeSystemConcept[] = [...system.concepts.values()];
  for (const filter of filters) {
    const keeps = compileFilter(system, filter);
    found = found.filter(keeps);
    yield;
  }
  return found;
}

type Keeps = (concept: CodeSystemConcept) => boolean;

function compileFilter(system: CodeSystemIndex, filter: unknown): Keeps {
  const { property, op, value } = isJsonObject(filter) ? filter : {};
  if (typeof property !== 'string' || typeof op !== 'string' || typeof value !== 'string') {
    throw new FhirError('unsupported', 'A filter of the value set has no property, operator or value');
  }
  const compiled =
    property === 'concept' || property === 'code'
      ? (hierarchyFilter(system, op, value) ?? valueFilter(op, value, ({ code }) => [code]))
      : valueFilter(op, value, (concept) => valuesOf(concept, property));
  if (compiled !== undefined) return compiled;
  throw new FhirError(
    'unsupported',
    `The value set filters ${quote(property)} by ${quote(op)}, which is not supported`,
  );
}

function hierarchyFilter(system: CodeSystemIndex, op: string, code: string): Keeps | undefined {
  switch (op) {
    case 'is-a':
      return oneOf(system.below(code));
    case 'descendent-of': {
      const below = oneOf(system.below(code));
      return (concept) => concept.code !== code && below(concept);
    }
    case 'is-not-a': {
      const below = oneOf(system.below(code));
      return (concept) => !below(concept);
    }
    case 'generalizes':
      return oneOf(system.above(code));
    default:
      return undefined;
  }
}

function valueFilter(
  op: string,
  value: string,
  valuesOf: (concept: CodeSystemConcept) => readonly string[],
): Keeps | undefined {
  const listed = new Set(value.split(',').map((one) => one.trim()));
  switch (op) {
    case '=':
      return (concept) => valuesOf(concept).includes(value);
    case 'in':
      return (concept) => valuesOf(concept).some((one) => listed.has(one));
    case 'not-in':
      return (concept) => !valuesOf(concept).some((one) => listed.has(one));
    case 'exists':
      return (concept) => valuesOf(concept).length > 0 === (value === 'true');
    default:
      return undefined;
  }
}

function oneOf(concepts: readonly CodeSystemConcept[]): Keeps {
  const set = new Set(concepts);
  return (concept) => set.has(concept);
}

function valuesOf(concept: CodeSystemConcept, property: string): readonly string[] {
  if (property === 'display') return concept.display === undefined ? [] : [concept.display];
  return concept.properties.get(property) ?? [];
}
