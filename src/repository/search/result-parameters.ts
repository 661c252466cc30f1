import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { didYouMean, quote } from '../../fhir/messages.js';
import type { SearchPair } from '../../search/parse/search-pairs.js';
import { type Include, parseIncludes } from './include.js';
import type { Subset } from './subset.js';

/**
 * The parameters for the result of a search beyond its page: included resources, and which elements of each resource.
 */
interface ResultParameters {
  readonly includes: readonly Include[];
  readonly subset: Subset | undefined;
  /** The other parameters: criteria, order and page. */
  readonly rest: readonly SearchPair[];
}

/** Each is a store call per level. */
const MAX_INCLUDES = 20;

/**
 * @throws FhirError `invalid` - a malformed parameter, or two that contradict each other
 * @throws FhirError `unsupported`, `too-costly` - `_revinclude=*`; more than 20 of them
 */
export function readResultParameters(model: FhirModel, type: string, pairs: readonly SearchPair[]): ResultParameters {
  const includes: Include[] = [];
  const rest: SearchPair[] = [];
  let subset: Subset | undefined;
  const choose = (name: string, chosen: Subset): void => {
    if (subset !== undefined) throw new FhirError('invalid', `"${name}" and another parameter both select elements`);
    subset = chosen;
  };
  for (const [name, value] of pairs) {
    const base = name.split(':', 1)[0];
    if (base === '_include' || base === '_revinclude') includes.push(...parseIncludes(model, type, name, value));
    else if (name === '_elements') choose(name, { kind: 'elements', names: readElements(model, type, value) });
    else if (name === '_fields') choose(name, { kind: 'elements', names: readFields(model, type, value) });
    else if (name === '_summary' && SUMMARIES.has(value)) choose(name, { kind: SUMMARIES.get(value)! });
    else if (name === '_summary' && value !== 'count' && value !== 'false') {
      throw new FhirError('invalid', `"_summary" takes true, text, data, count or false, not ${quote(value)}`);
    } else rest.push([name, value]);
  }
  if (includes.length > MAX_INCLUDES) {
    throw new FhirError(
      'too-costly',
      `A search may have ${MAX_INCLUDES} _include and _revinclude, not ${includes.length}; ask in several searches`,
      { details: { max: MAX_INCLUDES, value: includes.length } },
    );
  }
  if (includes.length > 0 && subset?.kind === 'text') {
    throw new FhirError('invalid', '"_summary=text" cannot be combined with _include and _revinclude');
  }
  return { includes, subset, rest };
}

/** The requested elements of a read; other parameters are ignored. @throws FhirError `invalid` */
export function readSubset(model: FhirModel, type: string, parameters: URLSearchParams): Subset | undefined {
  const names = ['_elements', '_fields', '_summary'];
  return readResultParameters(
    model,
    type,
    [...parameters].filter(([name, value]) => names.includes(name) && value !== ''),
  ).subset;
}

/** `count` and `false` are about the page. */
const SUMMARIES: ReadonlyMap<string, 'summary' | 'text' | 'data'> = new Map([
  ['true', 'summary'],
  ['text', 'text'],
  ['data', 'data'],
]);

function readElements(model: FhirModel, type: string, value: string): ReadonlySet<string> {
  const known = elementNames(model, type);
  return new Set(
    listOf(value).map((name) => {
      const element = name.startsWith(`${type}.`) ? name.slice(type.length + 1) : name;
      if (known.has(element)) return element;
      throw new FhirError('invalid', `Unknown element ${quote(name)} of ${type}.${didYouMean(element, known)}`);
    }),
  );
}

/**
 * The columns of Medplum's tables: elements, paths of elements and search parameters. Names that mean nothing here are
 * ignored, since tables have columns of their own.
 */
function readFields(model: FhirModel, type: string, value: string): ReadonlySet<string> {
  const known = elementNames(model, type);
  return new Set(
    listOf(value).flatMap((name) => {
      const element = name.split('.', 1)[0]!.replace('[x]', '');
      if (known.has(element)) return [element];
      const expression = model.searchParameter(type, name)?.expression ?? '';
      const paths = [...expression.matchAll(/\b([A-Z][A-Za-z]+)\.([a-z][A-Za-z]*)/g)];
      return paths.filter(([, owner]) => owner === type || owner === 'Resource').map(([, , path]) => path!);
    }),
  );
}

function listOf(value: string): readonly string[] {
  const names = value.split(',').map((name) => name.trim());
  if (names.length <= MAX_NAMES) return names;
  throw new FhirError('too-costly', `At most ${MAX_NAMES} elements can be named, not ${names.length}`);
}

const MAX_NAMES = 500;

/** Choices by their base names. */
function elementNames(model: FhirModel, type: string): ReadonlySet<string> {
  const elements = model.typeDefinition(type)?.elements.values() ?? [];
  return new Set([...elements].map(({ name, choiceOf }) => choiceOf ?? name));
}
