import type { SearchParameterType } from '../../fhir/model/definition-types.js';
import { orList, quote, shorten } from '../../fhir/messages.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { DefinitionProblems } from './problems.js';

/** The parts of a SearchParameter resource that are read. See https://hl7.org/fhir/R4/searchparameter.html. */
export interface SearchParameterSource {
  /** Location of the resource, `searchParameters[0]`. */
  readonly place: string;
  /** The name of the parameter in messages: its url, or its code. */
  readonly subject: string;
  readonly url: string | undefined;
  readonly code: string;
  readonly base: readonly string[];
  readonly type: SearchParameterType;
  readonly expression: string;
  readonly short: string;
  readonly targets: readonly string[] | undefined;
  readonly components: readonly { readonly definition: string; readonly expression: string }[];
  /** True if it restates a parameter of another definition. */
  readonly derived: boolean;
}

const TYPES: readonly SearchParameterType[] = [
  ...(['string', 'token', 'date', 'number', 'quantity', 'reference', 'uri', 'composite'] as const),
];

/** The code of a parameter: a name that a URL, a chain and (with `_` for `-`) a GraphQL argument can contain. */
const CODE = /^_?[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Stores have index names for this many components. */
const MAX_COMPONENTS = 10;

/** @returns undefined, with the problems noted, if the resource cannot be used */
export function readSearchParameter(
  resource: unknown,
  place: string,
  problems: DefinitionProblems,
): SearchParameterSource | undefined {
  if (!isJsonObject(resource) || resource.resourceType !== 'SearchParameter') {
    problems.add(place, `${place} is not a SearchParameter resource`);
    return undefined;
  }
  const url = textOf(resource.url);
  const subject = `Search parameter ${quote(url ?? textOf(resource.code) ?? place, 120)}`;
  const before = problems.count;
  const fail = (element: string, message: string, code?: 'not-supported'): void =>
    problems.add(`${place}.${element}`, `${subject} ${message}`, code);

  const code = textOf(resource.code);
  if (code === undefined || !CODE.test(code))
    fail('code', 'needs a code of at most 64 letters, digits, "-" and "_", which begins with a letter');
  const base = textsOf(resource.base);
  if (base === undefined || base.length === 0) fail('base', 'needs a base: the resource types that it applies to');
  const type = TYPES.find((one) => one === resource.type);
  if (type === undefined) {
    if (resource.type === 'special') fail('type', 'is of type special, which is not supported', 'not-supported');
    else fail('type', `needs a type: ${orList(TYPES)}`);
  }
  const usage = textOf(resource.xpathUsage);
  if (usage !== undefined && usage !== 'normal' && usage !== 'other')
    fail('xpathUsage', `is of usage ${shorten(usage)}, which is not supported`, 'not-supported');
  const expression = textOf(resource.expression);
  if (expression === undefined) fail('expression', 'needs a FHIRPath expression');
  const components = componentsOf(resource);
  if (type === 'composite' && (components === undefined || components.length === 0))
    fail('component', 'of type composite needs components, each with a definition and an expression');
  if (components !== undefined && components.length > MAX_COMPONENTS)
    fail('component', `has ${components.length} components; at most ${MAX_COMPONENTS} are supported`, 'not-supported');
  if (problems.count > before) return undefined;

  return {
    place,
    subject,
    url,
    code: code!,
    base: base!,
    type: type!,
    expression: expression!,
    short: shortOf(resource),
    targets: textsOf(resource.target),
    components: type === 'composite' ? components! : [],
    derived: textOf(resource.derivedFrom) !== undefined,
  };
}

function componentsOf({ component }: JsonObject): SearchParameterSource['components'] | undefined {
  if (!Array.isArray(component)) return undefined;
  const read = (component as readonly unknown[]).map((one) => {
    const definition = isJsonObject(one) ? textOf(one.definition) : undefined;
    const expression = isJsonObject(one) ? textOf(one.expression) : undefined;
    return definition === undefined || expression === undefined ? undefined : { definition, expression };
  });
  return read.every((one) => one !== undefined) ? read : undefined;
}

/** Maximum length of a description, in characters. */
const MAX_SHORT = 500;

function shortOf(resource: JsonObject): string {
  const text = textOf(resource.description) ?? textOf(resource.name) ?? '';
  return shorten(text.replace(/\s+/g, ' ').trim(), MAX_SHORT);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function textsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const texts = (value as readonly unknown[]).map(textOf);
  return texts.every((text) => text !== undefined) ? [...new Set(texts)] : undefined;
}
