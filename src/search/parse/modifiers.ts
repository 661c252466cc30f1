import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { SearchParameterDefinition, SearchParameterType } from '../../fhir/model/definition-types.js';
import { FhirError } from '../../fhir/error.js';
import { orList, quote } from '../../fhir/messages.js';
import type { ValueTraits } from '../index/value-traits.js';

/** A supported modifier; `type` represents the name of a resource type. */
export type Modifier =
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
export function requireModifier(
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
