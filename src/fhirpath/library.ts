import { createRequire } from 'node:module';
import type * as fhirpath from 'fhirpath';
import type { Model } from 'fhirpath';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { perModel } from '../fhir/model/per-model.js';

type Library = typeof fhirpath;

/** With what the published types leave out. */
interface R4Model extends Model {
  availableTypes: Set<string>;
}

const require = createRequire(import.meta.url);
let loaded: { readonly library: Library; readonly r4: R4Model } | undefined;

/** The FHIRPath library, loaded on first use: it takes longer to load than all the rest together. */
export function fhirPathLibrary(): Library {
  return load().library;
}

function load(): { readonly library: Library; readonly r4: R4Model } {
  loaded ??= {
    library: require('fhirpath') as Library,
    r4: require('fhirpath/fhir-context/r4') as R4Model,
  };
  return loaded;
}

/** What the library needs to know of the definitions. */
export const fhirPathModel: (model: FhirModel) => Model = perModel((model) => withOurDefinitions(model, load().r4));

/**
 * The model with the types and elements that are in our definitions but not in R4 core: ProjectMembership,
 * `Meta.author` and the like. The library's own object stays as it is.
 */
function withOurDefinitions(model: FhirModel, r4: R4Model): R4Model {
  const extended: R4Model = {
    ...r4,
    availableTypes: new Set(r4.availableTypes),
    type2Parent: { ...r4.type2Parent },
    path2Type: { ...r4.path2Type },
    path2TypeWithoutElements: { ...r4.path2TypeWithoutElements },
    pathsDefinedElsewhere: { ...r4.pathsDefinedElsewhere },
    choiceTypePaths: { ...r4.choiceTypePaths },
  };
  for (const name of model.typeNames) {
    const type = model.typeDefinition(name)!;
    if (type.kind === 'resource' && !r4.availableTypes.has(name)) {
      extended.availableTypes.add(name);
      extended.type2Parent[name] = 'DomainResource';
    }
    addElements(model, extended, type.path ?? name, name);
  }
  return extended;
}

function addElements(definitions: FhirModel, model: Model, path: string, type: string): void {
  for (const element of definitions.typeDefinition(type)!.elements.values()) {
    const elementPath = `${path}.${element.name}`;
    if (elementPath in model.path2Type || elementPath in model.pathsDefinedElsewhere) continue;
    const target = definitions.typeDefinition(element.type)?.path;
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
