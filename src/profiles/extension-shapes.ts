import type { ElementDefinition } from '../fhir/model/definition-types.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { JsonObject } from '../fhir/resource.js';
import { coreTypeOf, definitionsByUrl, withoutVersion } from './definitions-by-url.js';
import { choiceIn, readElements, typesIn } from './read-elements.js';
import { getOrCreate } from '../platform/collections.js';

/** The shape of an extension's field. */
export interface ExtensionShape {
  /** The url in the data: canonical, or the name of a part of a complex extension. */
  readonly url: string;
  /** Whether it may repeat. */
  readonly array: boolean;
  readonly short: string;
  /**
   * The one element of Extension that has the value, `valueCode`; undefined if the field is an object over the
   * extension itself.
   */
  readonly value: ElementDefinition | undefined;
  /** The FHIR type of the value, or the name of an {@link ExtensionType}. */
  readonly type: string;
}

/** The object over an extension that has parts, or a value of several types. */
export interface ExtensionType {
  readonly name: string;
  readonly short: string;
  /** The parts of a complex extension, by the names of their fields. */
  readonly parts: ReadonlyMap<string, ExtensionShape>;
  /** The elements of Extension that may have the value: `valueString`, `valueCodeableConcept`. */
  readonly values: readonly ElementDefinition[];
}

/** An element of a StructureDefinition with those below it. */
interface Node {
  definition: JsonObject;
  readonly children: Map<string, Node>;
  readonly slices: Map<string, Node>;
}

/** Deepest extension inside extensions. */
const MAX_DEPTH = 10;

/** Reads the shapes of extensions, and collects the object types that they need. */
export class ExtensionShapes {
  readonly types = new Map<string, ExtensionType>();

  constructor(private readonly model: FhirModel) {}

  /** @returns undefined if the definition is not a plain extension, or does not define its content */
  shapeOf(definition: JsonObject): ExtensionShape | undefined {
    return this.#shapeOf(definition, 0);
  }

  #shapeOf(definition: JsonObject, depth: number): ExtensionShape | undefined {
    const { type, url, name } = definition;
    const elements = readElements(definition)?.elements;
    if (type !== 'Extension' || typeof url !== 'string' || elements === undefined || depth > MAX_DEPTH)
      return undefined;
    const root: Node = { definition: {}, children: new Map(), slices: new Map() };
    for (const { definition: element, steps } of elements) {
      let node = root;
      for (const { name: step, slice } of steps.slice(1)) {
        node = below(node.children, step);
        if (slice !== undefined) node = below(node.slices, slice);
      }
      node.definition = element;
    }
    const isModifier = root.definition['isModifier'] === true;
    if (isModifier) return undefined;
    const typeName = typeof name === 'string' && NAME.test(name) ? name : nameOfType(lastSegment(url));
    const title = typeof definition['title'] === 'string' ? definition['title'] : typeName;
    return this.#read(root, withoutVersion(url), typeName, title, depth);
  }

  #read(node: Node, url: string, typeName: string, title: string, depth: number): ExtensionShape | undefined {
    const { short, max } = node.definition;
    const base = { url, array: max !== '1', short: typeof short === 'string' ? short : title };
    const slices = [...(node.children.get('extension')?.slices ?? [])];
    const parts = new Map<string, ExtensionShape>();
    for (const [slice, part] of slices) {
      if (part.definition['max'] === '0') continue;
      const name = camelCase(slice);
      const shape = this.#part(part, slice, `${typeName}${pascalCase(slice)}`, depth);
      if (shape !== undefined && NAME.test(name) && !parts.has(name)) parts.set(name, shape);
    }
    if (parts.size > 0) {
      this.#addType({ name: typeName, short: base.short, parts, values: [] });
      return { ...base, value: undefined, type: typeName };
    }
    const values = this.#values(node);
    const [only] = values;
    if (only === undefined) return undefined;
    if (values.length === 1) return { ...base, value: only, type: only.type };
    this.#addType({ name: typeName, short: base.short, parts, values });
    return { ...base, value: undefined, type: typeName };
  }

  /** A part is described in place, or is an extension of its own. */
  #part(part: Node, slice: string, typeName: string, depth: number): ExtensionShape | undefined {
    if (depth > MAX_DEPTH) return undefined;
    const [profile] = typesIn(part.definition).flatMap(({ profiles }) => profiles);
    const definition = profile === undefined ? undefined : definitionsByUrl(this.model).profile(profile);
    if (definition !== undefined) {
      const shape = this.#shapeOf(definition, depth + 1);
      return shape === undefined ? undefined : { ...shape, array: part.definition['max'] !== '1' };
    }
    const fixed = choiceIn(part.children.get('url')?.definition ?? {}, 'fixed')?.value;
    return this.#read(part, typeof fixed === 'string' ? fixed : slice, typeName, slice, depth + 1);
  }

  /** The elements of Extension that a definition allows for its value; all of them if it does not say. */
  #values({ children }: Node): readonly ElementDefinition[] {
    const all = [...this.model.typeDefinition('Extension')!.elements.values()].filter(
      ({ choiceOf }) => choiceOf === 'value',
    );
    const choice = children.get('value[x]');
    if (choice?.definition['max'] === '0') return [];
    const concrete = all.filter(({ name }) => children.has(name));
    const types = typesIn(choice?.definition ?? {});
    if (types.length === 0) return concrete.length > 0 ? concrete : all;
    return all.flatMap((element) => {
      const found = types.filter(({ code }) => code === element.type);
      if (found.length === 0) return [];
      const targets = found.flatMap(({ targetProfiles }) => targetProfiles.map((url) => this.#targetType(url)));
      if (targets.length === 0 || targets.includes(undefined)) return [element];
      return [{ ...element, targets: [...new Set(targets as readonly string[])] }];
    });
  }

  /** @returns undefined for any type */
  #targetType(url: string): string | undefined {
    const type = coreTypeOf(this.model, url) ?? definitionsByUrl(this.model).profile(url)?.['type'];
    return typeof type === 'string' && this.model.isResourceType(type) ? type : undefined;
  }

  #addType(type: ExtensionType): void {
    if (!this.types.has(type.name)) this.types.set(type.name, type);
  }
}

function below(nodes: Map<string, Node>, name: string): Node {
  return getOrCreate(nodes, name, () => ({ definition: {}, children: new Map(), slices: new Map() }));
}

/** A name of GraphQL; names that begin with two underscores are reserved. */
export const NAME = /^(?!__)[_A-Za-z][_0-9A-Za-z]*$/;

/** `omb-category` is `ombCategory`. */
export function camelCase(text: string): string {
  const words = text.split(/[^0-9A-Za-z]+/).filter((word) => word !== '');
  return words.map((word, index) => (index === 0 ? lowerFirst(word) : upperFirst(word))).join('');
}

function pascalCase(text: string): string {
  return upperFirst(camelCase(text));
}

/** `us-core-race` is `UsCoreRace`, `7up` is `Extension7up`. */
function nameOfType(text: string): string {
  const name = pascalCase(text);
  return NAME.test(name) ? name : `Extension${name}`;
}

/** `us-core-race` of `http://hl7.org/fhir/us/core/StructureDefinition/us-core-race`. */
export function lastSegment(url: string): string {
  return withoutVersion(url).split(/[/#:]/).at(-1) ?? '';
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
