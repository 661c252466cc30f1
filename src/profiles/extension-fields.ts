import { type FhirModel, perModel } from '../fhir/model/fhir-model.js';
import { quote } from '../fhir/messages.js';
import { elementsOf, type JsonObject } from '../fhir/resource.js';
import { withoutVersion } from './definitions-by-url.js';
import {
  camelCase,
  ExtensionShapes,
  lastSegment,
  NAME,
  type ExtensionShape,
  type ExtensionType,
} from './extension-shapes.js';
import { readElements, typesIn } from './read-elements.js';
import { objectsOf } from './value-set-codes.js';
import { getOrCreate } from '../platform/collections.js';

/** The fields by which schemas show the extensions that the definitions of a host describe. */
interface ExtensionFields {
  /** The fields of a resource type, data type or backbone element, by name. */
  of(type: string): ReadonlyMap<string, ExtensionShape>;
  /** The object type of an extension; undefined for other names. */
  type(name: string): ExtensionType | undefined;
  /** What is wrong with the names. */
  readonly problems: readonly string[];
}

/**
 * The extension fields of a model.
 *
 * An extension is a field of the types that its `context` names, and of those with a slice for it in a profile. Its name
 * is the one that the host gives (`extensionFields`), else that of the slice (`race`), else the end of its url in camel
 * case (`us-core-race`: `usCoreRace`). It must not be the name of another field.
 */
export const extensionFieldsOf: (model: FhirModel) => ExtensionFields = perModel((model) => {
  if (model.profiles.length === 0) return { of: () => NONE, type: () => undefined, problems: [] };
  const shapes = new ExtensionShapes(model);
  const uses = slicesOfProfiles(model);
  const fields = new Map<string, Map<string, ExtensionShape>>();
  const problems: string[] = [];
  for (const definition of model.profiles.map(elementsOf)) {
    const url = withoutVersion(String(definition['url']));
    const given = model.extensionFields[url];
    if (given === false) continue;
    const shape = shapes.shapeOf(definition);
    if (shape === undefined) continue;
    const used = uses.get(url) ?? new Map<string, ExtensionUse>();
    for (const type of new Set([...contextTypes(model, definition), ...used.keys()])) {
      const use = used.get(type);
      const name = given ?? use?.name ?? camelCase(lastSegment(url));
      const own = getOrCreate(fields, type, () => new Map<string, ExtensionShape>());
      const problem =
        nameProblem(model, type, name) ?? (own.has(name) ? 'is the field of another extension' : undefined);
      if (problem === undefined) own.set(name, use === undefined ? shape : { ...shape, array: use.array });
      else
        problems.push(
          `The extension ${quote(url, 200)} would be the field ${quote(name)} of ${type}, which ${problem}; give it another name with extensionFields: { ${quote(url, 200)}: '…' }, or false for no field`,
        );
    }
  }
  for (const name of shapes.types.keys()) {
    if (isTypeName(model, name))
      problems.push(
        `The extension type ${quote(name)} has the name of another type; change the name of its StructureDefinition`,
      );
  }
  return { of: (type) => fields.get(type) ?? NONE, type: (name) => shapes.types.get(name), problems };
});

const NONE: ReadonlyMap<string, ExtensionShape> = new Map();

/** How a profile uses an extension. */
interface ExtensionUse {
  readonly name: string;
  readonly array: boolean;
}

/** The slices for extensions in profiles: by the url of the extension and the type that has it. */
function slicesOfProfiles(model: FhirModel): ReadonlyMap<string, ReadonlyMap<string, ExtensionUse>> {
  const uses = new Map<string, Map<string, ExtensionUse>>();
  for (const profile of model.profiles.map(elementsOf)) {
    if (profile['type'] === 'Extension') continue;
    for (const { definition, steps } of readElements(profile)?.elements ?? []) {
      const last = steps.at(-1);
      const [url] = typesIn(definition).flatMap(({ profiles }) => profiles);
      if (last?.name !== 'extension' || last.slice === undefined || url === undefined || definition['max'] === '0')
        continue;
      const type = typeAtPath(
        model,
        steps.slice(0, -1).map(({ name }) => name),
      );
      if (type === undefined) continue;
      const byType = getOrCreate(uses, withoutVersion(url), () => new Map<string, ExtensionUse>());
      const known = byType.get(type);
      const array = definition['max'] !== '1' || known?.array === true;
      byType.set(type, { name: known?.name ?? camelCase(last.slice), array });
    }
  }
  return uses;
}

/** The types that the contexts of an extension name. See https://hl7.org/fhir/R4/defining-extensions.html#context. */
function contextTypes(model: FhirModel, definition: JsonObject): readonly string[] {
  return objectsOf(definition['context']).flatMap(({ type, expression }) => {
    if (type !== 'element' || typeof expression !== 'string') return [];
    if (expression === 'Resource' || expression === 'DomainResource')
      return model.resourceTypes.filter((name) => model.isA(name, expression));
    return typeAtPath(model, expression.split('.')) ?? [];
  });
}

/**
 * The type at a path: a resource type, a data type anywhere, or a backbone element. A data type at a path
 * (`Patient.name`) is not one: its fields are those of the data type everywhere.
 */
function typeAtPath(model: FhirModel, [head = '', ...names]: readonly string[]): string | undefined {
  let definition = model.typeDefinition(head);
  for (const name of names) {
    const element = definition?.elements.get(name);
    definition = element === undefined ? undefined : model.typeDefinition(element.type);
    if (definition?.path === undefined) return undefined;
  }
  if (definition === undefined || definition.kind === 'primitive' || ABSTRACT.has(definition.name)) return undefined;
  return definition.kind !== 'resource' || model.isResourceType(definition.name) ? definition.name : undefined;
}

/** Every element would get these fields. */
const ABSTRACT: ReadonlySet<string> = new Set(['Element', 'BackboneElement', 'Extension']);

function nameProblem(model: FhirModel, type: string, name: string): string | undefined {
  if (!NAME.test(name)) return 'is not a name in GraphQL';
  const { elements } = model.typeDefinition(type)!;
  const plain = name.startsWith('_') ? name.slice(1) : name;
  if (elements.has(plain) || [...elements.values()].some(({ choiceOf }) => choiceOf === name)) return 'is an element';
  const target = /^(.+)(?:List|Connection)$/.exec(name)?.[1];
  if (RESERVED.has(name) || (target !== undefined && model.isResourceType(target))) return 'is a field of every schema';
  return undefined;
}

const RESERVED: ReadonlySet<string> = new Set(['resourceType', 'cache_key', 'resource', 'fhirpath']);

function isTypeName(model: FhirModel, name: string): boolean {
  const [, base = name] = /^(.+?)(?:Input|ResourceInput|Create|List|Connection|ConnectionEdge)$/.exec(name) ?? [];
  return model.typeDefinition(name) !== undefined || model.typeDefinition(base) !== undefined || TYPE_NAMES.has(name);
}

/** Other types of the schemas. */
const TYPE_NAMES: ReadonlySet<string> = new Set([
  ...['Query', 'Mutation', 'Subscription', 'Canonical', 'Choice', 'PatchOperation', 'JSON', 'ResourceInput'],
  ...['String', 'ID', 'Int', 'Float', 'Boolean', 'SearchParameterName', 'ResourceTypeName'],
]);
