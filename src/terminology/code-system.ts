import { FhirError } from '../fhir/error.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';

/** A code of a system with its place in the hierarchy. */
export interface CodeSystemConcept {
  readonly code: string;
  readonly display: string | undefined;
  readonly inactive: boolean;
  /** Values of its properties, as text. */
  readonly properties: ReadonlyMap<string, readonly string[]>;
  readonly parents: ReadonlySet<CodeSystemConcept>;
  readonly children: ReadonlySet<CodeSystemConcept>;
}

/** Concepts that are read in a step: about 0.1 ms. */
const STEP_SIZE = 64;

/** The concepts of a CodeSystem resource by code. See https://hl7.org/fhir/R4/codesystem.html. */
export class CodeSystemIndex {
  readonly concepts = new Map<string, MutableConcept>();
  /** The CodeSystem has all codes of the system. */
  readonly isComplete: boolean;
  /** The hierarchy means that parents subsume their children. */
  readonly subsumes: boolean;

  #seen = 0;

  private constructor({ content, hierarchyMeaning }: JsonObject) {
    this.isComplete = content === undefined || content === 'complete';
    this.subsumes = hierarchyMeaning === undefined || hierarchyMeaning === 'is-a';
  }

  /** In steps: systems have any number of concepts. */
  static *reading(resource: JsonObject): Generator<void, CodeSystemIndex> {
    const index = new CodeSystemIndex(resource);
    yield* index.#addAll(resource['concept']);
    yield* index.#linkByProperties();
    return index;
  }

  /** Nested concepts are children of the concept around them. */
  *#addAll(list: unknown): Generator<void> {
    const pending: { readonly list: unknown; readonly parent: MutableConcept | undefined }[] = [
      { list, parent: undefined },
    ];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const one of Array.isArray(next.list) ? (next.list as readonly unknown[]) : []) {
        if (++this.#seen % STEP_SIZE === 0) yield;
        const concept = isJsonObject(one) ? this.#add(one) : undefined;
        if (concept === undefined) continue;
        if (next.parent !== undefined) link(next.parent, concept);
        pending.push({ list: (one as JsonObject)['concept'], parent: concept });
      }
    }
  }

  #add(element: JsonObject): MutableConcept | undefined {
    const { code, display } = element;
    if (typeof code !== 'string') return undefined;
    const properties = propertiesOf(element);
    const inactive =
      properties.get('inactive')?.includes('true') === true ||
      properties.get('status')?.some((status) => status === 'inactive' || status === 'retired') === true;
    const known = this.concepts.get(code);
    if (known !== undefined) return known;
    const concept: MutableConcept = {
      ...{ code, inactive, properties, parents: new Set(), children: new Set() },
      display: typeof display === 'string' ? display : undefined,
    };
    this.concepts.set(code, concept);
    return concept;
  }

  /** See https://hl7.org/fhir/R4/codesystem-concept-properties.html. */
  *#linkByProperties(): Generator<void> {
    for (const concept of this.concepts.values()) {
      if (++this.#seen % STEP_SIZE === 0) yield;
      for (const name of ['parent', 'subsumedBy']) {
        for (const code of concept.properties.get(name) ?? []) this.#linkTo(code, (parent) => link(parent, concept));
      }
      for (const code of concept.properties.get('child') ?? []) this.#linkTo(code, (child) => link(concept, child));
    }
  }

  #linkTo(code: string, connect: (other: MutableConcept) => void): void {
    const other = this.concepts.get(code);
    if (other !== undefined) connect(other);
  }

  /** The concept and everything below it. @throws FhirError as {@link hierarchyOf} */
  below(code: string): readonly CodeSystemConcept[] {
    return reachable(this.hierarchyOf(code), ({ children }) => children);
  }

  /** The concept and everything above it. @throws FhirError as {@link hierarchyOf} */
  above(code: string): readonly CodeSystemConcept[] {
    return reachable(this.hierarchyOf(code), ({ parents }) => parents);
  }

  /**
   * The concept of a code, in a hierarchy that can be followed.
   *
   * @throws FhirError `invalid` - the system has no such code
   * @throws FhirError `unsupported` - the hierarchy means something else than subsumption, or some codes are not here
   */
  hierarchyOf(code: string): CodeSystemConcept {
    if (!this.isComplete) throw new FhirError('unsupported', 'Not all codes of the code system are available here');
    if (!this.subsumes)
      throw new FhirError(
        'unsupported',
        'The hierarchyMeaning of the code system is not is-a, so its hierarchy cannot be searched',
      );
    const concept = this.concepts.get(code);
    if (concept === undefined) throw new FhirError('invalid', 'The code system has no such code');
    return concept;
  }
}

interface MutableConcept extends CodeSystemConcept {
  readonly parents: Set<CodeSystemConcept>;
  readonly children: Set<CodeSystemConcept>;
}

function link(parent: MutableConcept, child: MutableConcept): void {
  parent.children.add(child);
  child.parents.add(parent);
}

/** Hierarchies may have several parents, and hostile ones circles. */
function reachable(
  from: CodeSystemConcept,
  next: (concept: CodeSystemConcept) => Iterable<CodeSystemConcept>,
): readonly CodeSystemConcept[] {
  const found = new Set([from]);
  for (const concept of found) for (const one of next(concept)) found.add(one);
  return [...found];
}

function propertiesOf({ property }: JsonObject): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const one of Array.isArray(property) ? (property as readonly unknown[]) : []) {
    if (!isJsonObject(one) || typeof one['code'] !== 'string') continue;
    const value = Object.entries(one).find(([name]) => name.startsWith('value'))?.[1];
    const text = isJsonObject(value) ? value['code'] : value;
    if (typeof text !== 'string' && typeof text !== 'number' && typeof text !== 'boolean') continue;
    found.set(one['code'], [...(found.get(one['code']) ?? []), String(text)]);
  }
  return found;
}
