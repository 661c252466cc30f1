import { FhirError } from '../../fhir/error.js';
import { orList, quote } from '../../fhir/messages.js';
import type { SearchParameterDefinition, SearchParameterType } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { ALL, and, type Criteria, NONE, not, or } from '../criteria/criteria.js';
import type { ReferenceTest, ValueTest } from '../criteria/value-test.js';
import { foldToken } from '../index/index-token.js';
import { type ValueTraits, valueTraits } from '../index/value-traits.js';
import { targetTypes, walkName } from './chain.js';
import { countEscaped, foldSearched, splitEscaped, stringCriteria, unescape, wordCriteria } from './string-criteria.js';
import {
  createParseContext,
  MAX_VALUE_LENGTH,
  MAX_VALUES,
  type ParseContext,
  requireParameter,
  type SearchOptions,
  spend,
  tooCostly,
} from './parse-context.js';
import { hierarchyTest, parseTokenValue, parseTypedIdentifier, valueSetTest } from './parse-token-value.js';
import { parseCompositeValue, parseReferenceValue, parseValue } from './parse-value.js';

/**
 * Parses one search parameter with its values into criteria for a resource type.
 *
 * Commas within a value and several values both mean "or"; an empty list matches nothing. The caller joins repeated
 * parameters, which mean "and". See https://hl7.org/fhir/R4/search.html#parameters.
 *
 * @param name `code`; with `options.modifiers` also `code:not`, `subject:Patient.name`,
 * `_has:Observation:patient:code`.
 * @throws FhirError `invalid` - unknown name, unfitting modifier, malformed value.
 * @throws FhirError `unsupported` - defined by FHIR, but not supported.
 * @throws FhirError `too-costly` - more values, longer values or longer chains than allowed.
 * @example
 * parseParameter('Patient', 'family', ['Kulas,Smith']);
 */
export function parseParameter(
  model: FhirModel,
  type: string,
  name: string,
  values: readonly string[],
  options?: SearchOptions,
): Criteria {
  return parseParameterIn(createParseContext(model, options), type, name, values);
}

/** {@link parseParameter} within a larger search. */
export function parseParameterIn(
  context: ParseContext,
  type: string,
  name: string,
  values: readonly string[],
): Criteria {
  if (!context.modifiers && (/[:.]/.test(name) || name === '_has')) {
    throw new FhirError(
      'invalid',
      `Modifiers and chains are not supported here, but ${quote(name)} uses one: use "_filter"`,
    );
  }
  const alternatives = splitValues(name, values);
  return walkName(type, name, context, (last, code, modifier) => {
    spend(context, alternatives.length);
    return criteriaOf(last, code, modifier, alternatives, context);
  });
}

/** The alternatives given by commas and several values, still escaped. */
function splitValues(name: string, values: readonly string[]): readonly string[] {
  const count = values.reduce((sum, value) => sum + countEscaped(value, ','), 0);
  if (count > MAX_VALUES) {
    throw tooCostly(`values for ${quote(name)}`, MAX_VALUES, count, 'ask in several requests');
  }
  const alternatives = values.flatMap((value) => splitEscaped(value, ','));
  for (const { length } of alternatives) {
    if (length > MAX_VALUE_LENGTH) {
      throw tooCostly(`characters in a value of ${quote(name)}`, MAX_VALUE_LENGTH, length, 'shorten it');
    }
  }
  return alternatives;
}

function criteriaOf(
  type: string,
  code: string,
  modifierText: string | undefined,
  values: readonly string[],
  context: ParseContext,
): Criteria {
  const parameter = requireParameter(context.model, type, code);
  const traits = valueTraits(context.model, type, parameter);
  const modifier =
    modifierText === undefined ? undefined : requireModifier(context.model, parameter, traits, modifierText);
  const each = (criteriaFor: (value: string) => Criteria): Criteria =>
    or(
      values.map((value) => {
        if (value === '') throw new FhirError('invalid', `Search parameter "${code}" needs a value, got an empty one`);
        return criteriaFor(value);
      }),
    );
  /** All alternatives; ids form one criterion, since a store reads them at once. */
  const any = (): Criteria => {
    const criteria = each((value) => plainCriteria(type, parameter, value, context));
    return code === '_id' ? { kind: 'id', ids: values.map(unescape) } : criteria;
  };
  switch (modifier) {
    case undefined:
      return any();
    case 'not':
      return not(any());
    case 'missing':
      return each((value) => missingCriteria(parameter, parseBoolean(code, value)));
    case 'identifier':
      return each((value) => match(`${code}:identifier`, parseTokenValue({ code }, value, context)));
    case 'of-type':
      return each((value) => match(`${code}:of-type`, parseTypedIdentifier(code, value)));
    case 'in':
      return each((value) => match(code, valueSetTest(code, value)));
    case 'not-in':
      return not(each((value) => match(code, valueSetTest(code, value))));
    case 'below':
      if (parameter.type === 'token' && !traits.mimeTypes)
        return each((value) => match(code, hierarchyTest(code, modifier, value, context)));
      if (traits.mimeTypes) return each((value) => match(code, mimeTypeTest(parameter.code, value, context)));
      return each((value) => or(testsBelow(parameter, traits, value, context).map((test) => match(code, test))));
    case 'type': {
      const targets = targetTypes(context.model, type, parameter, modifierText);
      return each((value) => match(code, typedReference({ code, ...traits }, targets, value, context)));
    }
    case 'above':
      if (parameter.type === 'token')
        return each((value) => match(code, hierarchyTest(code, modifier, value, context)));
      return each((value) => match(code, modifiedTest(code, modifier, unescape(value))));
    case 'contains':
      return each((value) => stringCriteria(code, modifier, unescape(value), traits, context));
    default:
      return each((value) => match(code, modifiedTest(code, modifier, unescape(value))));
  }
}

/**
 * One value, still escaped, of a parameter without modifier.
 *
 * `_id`, `_lastUpdated` and composites have their own criteria.
 */
function plainCriteria(
  type: string,
  parameter: SearchParameterDefinition,
  value: string,
  context: ParseContext,
): Criteria {
  const { code } = parameter;
  if (code === '_id') return { kind: 'id', ids: [unescape(value)] };
  if (parameter.type === 'composite') return parseCompositeValue(type, parameter, value, context);
  if (parameter.type === 'uri' && code === 'url') return canonicalCriteria(type, value, context);
  const traits = valueTraits(context.model, type, parameter);
  if (parameter.type === 'string') {
    // Words of names belong to one name, whether or not the parameter is indexed by word.
    return parameter.words === true && traits.names !== 'all'
      ? wordCriteria(code, unescape(value), context)
      : stringCriteria(code, 'starts-with', unescape(value), traits, context);
  }
  const test = parseValue({ ...parameter, ...traits }, value, context);
  if (code === '_lastUpdated' && test.kind === 'date') return { kind: 'last-updated', test };
  return { kind: 'match', parameter: code, test };
}

/** Whether the resource has no value of the parameter. See https://hl7.org/fhir/R4/search.html#modifiers. */
export function missingCriteria(parameter: SearchParameterDefinition, missing: boolean): Criteria {
  const { code, type } = parameter;
  if (code === '_id' || code === '_lastUpdated') return missing ? NONE : ALL;
  const own: Criteria = { kind: 'missing', parameter: code, missing };
  if (type !== 'reference') return own;
  // References by identifier alone, to a contained resource or with only a display have index names of their own.
  const others = [`${code}:identifier`, `${code}:present`].map((parameter): Criteria => ({
    kind: 'missing',
    parameter,
    missing,
  }));
  return missing ? and([own, ...others]) : or([own, ...others]);
}

/**
 * @throws FhirError `invalid` - neither `true` nor `false`.
 */
export function parseBoolean(parameter: string, text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new FhirError(
    'invalid',
    `The test whether "${parameter}" is missing or present takes true or false, not ${quote(text)}`,
  );
}

/** The url of a conformance resource may include its version. See https://hl7.org/fhir/R4/search.html#uri. */
function canonicalCriteria(type: string, value: string, context: ParseContext): Criteria {
  const parts = splitEscaped(value, '|').map(unescape);
  const [url, version] = parts as [string, string?];
  const versioned =
    parts.length === 2 && url !== '' && version !== '' && context.model.searchParameter(type, 'version') !== undefined;
  if (!versioned || version === undefined)
    return match('url', { kind: 'uri', comparator: 'equals', value: unescape(value) });
  spend(context, 1);
  return and([
    match('url', { kind: 'uri', comparator: 'equals', value: url }),
    match('version', { kind: 'token', code: foldToken(version) }),
  ]);
}

function mimeTypeTest(code: string, value: string, context: ParseContext): ValueTest {
  const test = parseTokenValue({ code }, value, context);
  return test.code === undefined ? test : { ...test, below: true };
}

function typedReference(
  parameter: Pick<SearchParameterDefinition, 'code'> & ValueTraits,
  targets: readonly string[],
  value: string,
  context: ParseContext,
): ReferenceTest {
  const { code } = parameter;
  const test = parseReferenceValue(parameter, targets, unescape(value), context);
  const named = test.types?.find((type) => !targets.includes(type));
  if (named === undefined) return test;
  throw new FhirError('invalid', `A value of "${code}:${targets.join()}" names a resource of type ${named}`);
}

/**
 * `:below` on a uri or a canonical. `url|1` finds the versions that begin with 1. Without a version, every version of a
 * canonical is below it.
 */
function testsBelow(
  { code, type, targets }: SearchParameterDefinition,
  traits: ValueTraits,
  text: string,
  context: ParseContext,
): readonly ValueTest[] {
  const value = unescape(text);
  const bar = traits.canonicals ? value.lastIndexOf('|') : -1;
  if (bar === 0 || (bar > 0 && bar === value.length - 1)) {
    throw new FhirError('invalid', `":below" on "${code}" takes a URL, or url|version, not ${quote(value)}`);
  }
  if (type === 'reference') {
    const test = parseReferenceValue({ code, ...traits }, targets, value, context);
    return [bar < 0 ? test : { ...test, version: 'below' }];
  }
  if (bar < 0) {
    const below = modifiedTest(code, 'below', value);
    return traits.canonicals ? [below, { kind: 'uri', comparator: 'canonical', value }] : [below];
  }
  return [
    { kind: 'uri', comparator: 'equals', value },
    { kind: 'uri', comparator: 'starts-with', value: `${value}.` },
  ];
}

/** Tests that only modifiers create, from an unescaped value. */
function modifiedTest(
  code: string,
  modifier: Extract<Modifier, 'text' | 'exact' | 'above' | 'below'>,
  value: string,
): ValueTest {
  switch (modifier) {
    case 'text':
      return { kind: 'text', text: foldSearched(code, value) };
    case 'exact':
      return { kind: 'string', comparator: 'exact', text: value };
    case 'above':
    case 'below':
      if (/^urn:/i.test(value)) {
        throw new FhirError('invalid', `Modifier ":${modifier}" on "${code}" takes URLs only, not ${quote(value)}`);
      }
      return { kind: 'uri', comparator: modifier, value };
  }
}

function match(parameter: string, test: ValueTest): Criteria {
  return { kind: 'match', parameter, test };
}

/** A supported modifier; `type` represents the name of a resource type. */
type Modifier =
  | 'missing'
  | 'not'
  | 'text'
  | 'exact'
  | 'contains'
  | 'identifier'
  | 'of-type'
  | 'in'
  | 'not-in'
  | 'above'
  | 'below'
  | 'type';

/**
 * The modifiers of each parameter type. See https://hl7.org/fhir/R4/search.html#modifiers.
 *
 * R4 defines `:not` for tokens only; references and uris follow R5, which does not affect R4 callers.
 */
const ALLOWED: Readonly<Record<SearchParameterType, readonly Modifier[]>> = {
  string: ['missing', 'exact', 'contains'],
  token: ['missing', 'not', 'text', 'in', 'not-in', 'above', 'below'],
  reference: ['missing', 'not', 'identifier', 'type'],
  uri: ['missing', 'not', 'above', 'below'],
  date: ['missing'],
  number: ['missing'],
  quantity: ['missing'],
  composite: [],
  special: [],
};

/** `_id` has no text. */
const ALLOWED_ON_ID: readonly Modifier[] = ['missing', 'not'];

/** Modifiers of the specification that are not supported, with the reason. */
const UNSUPPORTED: Readonly<Partial<Record<SearchParameterType, ReadonlyMap<string, string>>>> = {
  string: new Map([['text', 'a text search engine']]),
  reference: new Map([
    ['above', 'hierarchies in the index'],
    ['below', 'hierarchies in the index'],
  ]),
};

/**
 * Reads the modifier after the colon of a parameter name.
 *
 * @param traits of the parameter: Identifiers take `:of-type`, MIME types `:below`
 * @throws FhirError `unsupported` - defined for this type, but not supported.
 * @throws FhirError `invalid` - not defined for this type; the message lists the valid ones.
 */
function requireModifier(
  model: FhirModel,
  parameter: Pick<SearchParameterDefinition, 'code' | 'type'>,
  traits: ValueTraits,
  text: string,
): Modifier {
  const allowed = allowedOn(parameter, traits);
  const modifier = allowed.find((one) => one === text && one !== 'type');
  if (modifier !== undefined) return modifier;
  if (allowed.includes('type') && model.isResourceType(text)) return 'type';
  const needs = UNSUPPORTED[parameter.type]?.get(text);
  if (needs !== undefined) {
    throw new FhirError(
      'unsupported',
      `Modifier ":${text}" on "${parameter.code}" needs ${needs} and is not supported`,
    );
  }
  const fitting = allowed.map((one) => (one === 'type' ? ':[resource type]' : `":${one}"`));
  throw new FhirError(
    'invalid',
    `Modifier ${quote(`:${text}`)} does not fit "${parameter.code}" of type ${parameter.type}, which takes ${orList(fitting) || 'none'}`,
  );
}

function allowedOn(
  { code, type }: Pick<SearchParameterDefinition, 'code' | 'type'>,
  { identifiers, canonicals }: ValueTraits,
): readonly Modifier[] {
  if (code === '_id') return ALLOWED_ON_ID;
  if (type === 'token' && identifiers) return [...ALLOWED.token, 'of-type'];
  // The versions of a canonical are below it.
  return type === 'reference' && canonicals ? [...ALLOWED.reference, 'below'] : ALLOWED[type];
}
