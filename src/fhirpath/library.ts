import type fhirpath from 'fhirpath';
import type { Model } from 'fhirpath';
import type * as re2js from 're2js';
import { FhirError } from '../fhir/error.js';
import { type FhirModel, perModel } from '../fhir/model/fhir-model.js';
import { inOneGo, inTurns, Pace } from '../platform/pace.js';
import { nextTurn } from '../platform/runtime.js';

type Library = typeof fhirpath;

/** Members missing from the published types. */
interface R4Model extends Model {
  availableTypes: Set<string>;
}

interface Loaded {
  readonly library: Library;
  readonly r4: R4Model;
  readonly RE2JS: typeof re2js.RE2JS;
}

let loading: Promise<Loaded> | undefined;
let loaded: Loaded | undefined;

/**
 * Loads the FHIRPath library, which takes longer to load than everything else together.
 *
 * Every asynchronous step awaits this before the first expression is parsed, compiled or evaluated: preparing a
 * request, signing in, writing or checking policies, creating a model with FHIRPath in its index. Expressions are
 * evaluated synchronously and never load anything.
 *
 * @param model a model to adapt to the library as well, in turns with other work; otherwise the first expression that
 * needs the adapted model makes it at once
 */
export async function loadFhirPath(model?: FhirModel): Promise<void> {
  loading ??= load();
  try {
    loaded = await loading;
  } catch (error) {
    // The next call tries again.
    loading = undefined;
    throw error;
  }
  if (model === undefined) return;
  const adapted = ADAPTED(model);
  adapted.model ??= await inTurns(withOurDefinitions(model, loaded.r4), new Pace());
}

/** Resets the loaded library. Only for the test that every code path to an expression loads it first. */
export function forgetFhirPath(): void {
  loading = loaded = undefined;
}

async function load(): Promise<Loaded> {
  // Each of them takes a turn of the event loop: modules, which hold data, and the parser's first expressions.
  const { RE2JS } = await import('re2js');
  await nextTurn();
  const r4 = await import('fhirpath/fhir-context/r4');
  await nextTurn();
  const library = await import('fhirpath');
  for (const expression of FIRST_EXPRESSIONS) {
    await nextTurn();
    library.default.parse(expression);
  }
  await nextTurn();
  return { library: library.default, r4: r4.default as R4Model, RE2JS };
}

/** Together they use most rules of the grammar. */
const FIRST_EXPRESSIONS = ['true', "name.where(use = 'official').given.first() != 'A' and active"];

/** @throws FhirError `internal` - {@link loadFhirPath} was not awaited */
export function fhirPathLibrary(): Library {
  return present().library;
}

/** @throws FhirError `internal` - {@link loadFhirPath} was not awaited */
export function regularExpressions(): typeof re2js.RE2JS {
  return present().RE2JS;
}

function present(): Loaded {
  if (loaded === undefined) throw new FhirError('internal', 'The FHIRPath library is needed before it was loaded');
  return loaded;
}

/** Adapts a FhirModel to fhirpath.js. */
export function fhirPathModel(model: FhirModel): Model {
  return (ADAPTED(model).model ??= inOneGo(withOurDefinitions(model, present().r4)));
}

const ADAPTED = perModel((): { model?: R4Model } => ({}));

/**
 * A copy of fhirpath.js's R4 model with the types and elements that R4 core lacks (ProjectMembership, `Meta.author`) or
 * types differently.
 */
function* withOurDefinitions(model: FhirModel, r4: R4Model): Generator<void, R4Model> {
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
    yield;
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
    const known = model.path2Type[elementPath];
    if (elementPath in model.pathsDefinedElsewhere) continue;
    if (known !== undefined && (UNNAMED.has(known) || definitions.isA(element.type, known))) continue;
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

/** The type names fhirpath.js reports for elements whose types are named in the definitions. */
const UNNAMED: ReadonlySet<string> = new Set(['BackboneElement', 'Element', 'System.String']);

function addChoice(model: Model, path: string, type: string): void {
  const suffix = type[0]!.toUpperCase() + type.slice(1);
  const known = model.choiceTypePaths[path] ?? [];
  if (!known.includes(suffix)) model.choiceTypePaths[path] = [...known, suffix];
}
