import { createRequire } from 'node:module';
import type * as fhirpath from 'fhirpath';
import type { Model } from 'fhirpath';
import { typeDefinition } from '../fhir/definitions.js';
import { R4 } from '../fhir/r4.js';

type Library = typeof fhirpath;

/** With what the published types leave out. */
interface R4Model extends Model {
  availableTypes: Set<string>;
}

const require = createRequire(import.meta.url);
let loaded: { readonly library: Library; readonly model: Model } | undefined;

/** The FHIRPath library and its R4 model, loaded on first use: they take longer to load than all the rest together. */
export function fhirPathLibrary(): { readonly library: Library; readonly model: Model } {
  loaded ??= {
    library: require('fhirpath') as Library,
    model: withOurDefinitions(require('fhirpath/fhir-context/r4') as R4Model),
  };
  return loaded;
}

/**
 * The model with the types and elements that are in our definitions but not in R4 core: ProjectMembership,
 * `Meta.author` and the like. The library's own object stays as it is.
 */
function withOurDefinitions(model: R4Model): R4Model {
  const extended: R4Model = {
    ...model,
    availableTypes: new Set(model.availableTypes),
    type2Parent: { ...model.type2Parent },
    path2Type: { ...model.path2Type },
    path2TypeWithoutElements: { ...model.path2TypeWithoutElements },
    pathsDefinedElsewhere: { ...model.pathsDefinedElsewhere },
    choiceTypePaths: { ...model.choiceTypePaths },
  };
  for (const name of R4.typeNames) {
    const type = typeDefinition(name)!;
    if (type.kind === 'resource' && !model.availableTypes.has(name)) {
      extended.availableTypes.add(name);
      extended.type2Parent[name] = 'DomainResource';
    }
    addElements(extended, type.path ?? name, name);
  }
  return extended;
}

function addElements(model: Model, path: string, type: string): void {
  for (const element of typeDefinition(type)!.elements.values()) {
    const elementPath = `${path}.${element.name}`;
    if (elementPath in model.path2Type || elementPath in model.pathsDefinedElsewhere) continue;
    const target = typeDefinition(element.type)?.path;
    if (target === undefined) {
      model.path2Type[elementPath] = element.type;
      model.path2TypeWithoutElements[elementPath] = element.type;
    } else if (target === elementPath) {
      model.path2Type[elementPath] = 'BackboneElement';
    } else {
      model.pathsDefinedElsewhere[elementPath] = target;
    }
    if (element.choiceOf !== undefined) addChoice(model, `${path}.${element.choiceOf}`, element.type);
  }
}

function addChoice(model: Model, path: string, type: string): void {
  const suffix = type[0]!.toUpperCase() + type.slice(1);
  const known = model.choiceTypePaths[path] ?? [];
  if (!known.includes(suffix)) model.choiceTypePaths[path] = [...known, suffix];
}
