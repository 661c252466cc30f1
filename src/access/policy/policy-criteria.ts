import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parseReference, referenceTo } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';
import { childrenOf, and, NONE, or, type Criteria, refersTo } from '../../search/criteria/criteria.js';
import type { ValueTest } from '../../search/criteria/value-test.js';
import { FORMAT_PARAMETERS, parseSearch } from '../../search/parse/parse-search.js';
import type { RuleCondition } from '../rule.js';

/**
 * The names of the parameters that criteria use: placeholders used as whole values.
 *
 * @returns each name with `owner` true if it is the owner of a compartment, which is always a reference
 */
export function criteriaParameters(text: string): { readonly name: string; readonly owner: boolean }[] {
  const mark = text.indexOf('?');
  if (mark < 0) return [];
  return text
    .slice(mark + 1)
    .split('&')
    .flatMap((part) => {
      const equals = part.indexOf('=');
      const [parameter, raw] = [part.slice(0, Math.max(0, equals)), part.slice(equals + 1)];
      const names =
        parameter === '_filter'
          ? [...raw.matchAll(IN_FILTER)].map(([, name]) => name!)
          : splitCommas(raw).flatMap((piece) => placeholderName(piece) ?? []);
      return names.map((name) => ({ name, owner: parameter === '_compartment' }));
    });
}

/** A placeholder between spaces or brackets, which may be escaped. */
const IN_FILTER = /(?<=^|[\s(+/]|%20|%28|%2[fF])%([A-Za-z_][A-Za-z0-9_-]*)(?:\.id)?(?=$|[\s)+]|%20|%29)/g;

/**
 * The criteria of a policy rule: `Observation?status=final&subject=%patient`, as a search of `type`.
 *
 * Parameters replace whole values only and are escaped: their values can never add a value, a parameter or an operator
 * to the search. A placeholder without value makes its search parameter match nothing.
 *
 * @throws FhirError `invalid`, `unsupported` - the text is not a supported search
 */
export function policyCriteria(model: FhirModel, type: string, text: string, parameters: PolicyParameters): Criteria {
  return and(criteriaConditions(model, type, text, parameters).map(({ criteria }) => criteria));
}

/** As {@link policyCriteria}, one condition per search parameter. */
export function criteriaConditions(
  model: FhirModel,
  type: string,
  text: string,
  parameters: PolicyParameters,
): RuleCondition[] {
  const conditions: RuleCondition[] = [];
  for (const part of queryOf(type, text).split('&')) {
    if (part === '') continue;
    const used = criteriaParameters(`?${part}`).map(({ name }) => name);
    const missing = used.filter((name) => !parameters.has(name));
    conditions.push({ text: part, criteria: partCriteria(model, type, part, parameters), missing });
  }
  return conditions;
}

function partCriteria(model: FhirModel, type: string, part: string, parameters: PolicyParameters): Criteria {
  const equals = part.indexOf('=');
  if (equals < 0) throw new FhirError('invalid', 'Each parameter of policy criteria needs "=" and a value');
  const name = decode(part.slice(0, equals));
  const raw = part.slice(equals + 1);
  if (name === '_compartment') return compartmentOf(model, type, raw, parameters);
  if (name !== '_filter') return parameterCriteria(model, type, name, raw, parameters);
  return parseOne(model, type, name, substituteInFilter(decodeOutside(raw, parameters), parameters));
}

function queryOf(type: string, text: string): string {
  const mark = text.indexOf('?');
  const named = mark < 0 ? text : text.slice(0, mark);
  if (mark < 0 && text.includes('=')) throw new FhirError('invalid', `Policy criteria begin with "${type}?"`);
  if (named !== type && named !== '*' && named !== '') {
    throw new FhirError('invalid', `The criteria search another type than ${type}, which the rule is about`);
  }
  return mark < 0 ? '' : text.slice(mark + 1);
}

function parameterCriteria(
  model: FhirModel,
  type: string,
  name: string,
  raw: string,
  parameters: PolicyParameters,
): Criteria {
  const values: string[] = [];
  for (const piece of splitCommas(raw)) {
    const found = placeholderValues(piece, parameters);
    if (found !== undefined) values.push(...found.map((text) => plainValue(model, type, name, text)));
    else if (mentionsParameter(piece, parameters)) throw embedded(name);
    else values.push(decode(piece));
  }
  return values.length === 0 ? NONE : parseOne(model, type, name, values.join(','));
}

/**
 * @throws FhirError `invalid` - the value would act as more than a value: `ge2020-01-01` for a date
 */
function plainValue(model: FhirModel, type: string, name: string, text: string): string {
  const value = escape(text);
  const criteria = parseOne(model, type, name, value);
  if (hasTest(criteria, hasOtherPrefix)) {
    throw new FhirError('invalid', `A parameter in "${name}" has a value that begins with a comparison such as ge`);
  }
  return value;
}

function hasTest(criteria: Criteria, isFound: (test: ValueTest) => boolean): boolean {
  switch (criteria.kind) {
    case 'match':
    case 'last-updated':
      return isFound(criteria.test);
    case 'composite':
      return criteria.tests.some(isFound);
    default:
      return childrenOf(criteria).some((child) => hasTest(child, isFound));
  }
}

/** True if a date, number or quantity has a prefix other than `eq`. */
function hasOtherPrefix(test: ValueTest): boolean {
  return 'prefix' in test && test.prefix !== 'eq';
}

function compartmentOf(model: FhirModel, type: string, raw: string, parameters: PolicyParameters): Criteria {
  return or(
    splitCommas(raw).flatMap((piece) =>
      (placeholderValues(piece, parameters) ?? [decode(piece)]).map((text) => {
        const owner = parseReference(text, model.baseUrl);
        if (owner?.kind !== 'local') throw new FhirError('invalid', '_compartment needs a reference such as Patient/1');
        return compartmentCriteria(model, type, owner);
      }),
    ),
  );
}

/** In `_filter` a placeholder is a whole value outside string literals; it is replaced by a literal. */
function substituteInFilter(text: string, parameters: PolicyParameters): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|(?<=\s)'(?:[^'\\]|\\.)*'|[^\s()"]+/gs, (token) => {
    const found = placeholderValues(token, parameters);
    if (found === undefined) {
      if (mentionsParameter(token, parameters)) throw embedded('_filter');
      return token;
    }
    if (found.length !== 1) {
      throw new FhirError('invalid', 'A parameter inside _filter must have exactly one value');
    }
    // Whatever the surrounding text, the value cannot end a string.
    return JSON.stringify(escape(found[0]!)).replaceAll("'", '\\u0027');
  });
}

function parseOne(model: FhirModel, type: string, name: string, value: string): Criteria {
  const { criteria, ...rest } = parseSearch(model, type, new URLSearchParams([[name, value]]));
  if (Object.keys(rest).length > 0 || FORMAT_PARAMETERS.has(name))
    throw new FhirError('invalid', `"${name}" has no meaning in policy criteria`);
  return criteria;
}

function embedded(name: string): FhirError {
  return new FhirError('invalid', `A parameter in "${name}" must be a whole value, not a part of other text`);
}

/** Splits at commas that are not escaped; the pieces keep their escapes. */
function splitCommas(raw: string): string[] {
  return raw.match(/(?:\\.|[^,\\])+/g) ?? [];
}

function escape(text: string): string {
  return text.replace(/[\\,|$]/g, '\\$&');
}

/**
 * Percent-decoding that keeps the placeholders of known parameters, some of which look like escapes (`%facility`).
 *
 * @throws FhirError `invalid` - a parameter without a value, or a "%" that is neither a parameter nor an escape
 */
function decodeOutside(raw: string, parameters: PolicyParameters): string {
  let decoded = '';
  let plain = '';
  for (const piece of raw.split(/(%[A-Za-z_][A-Za-z0-9_-]*(?:\.id)?)/)) {
    if (mentionsParameter(piece, parameters)) {
      decoded += decode(plain) + piece;
      plain = '';
    } else plain += piece;
  }
  return decoded + decode(plain);
}

/** @throws FhirError `invalid` - a "%" that is not an escape: an intended parameter must not become plain text */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new FhirError(
      'invalid',
      'Each "%" must begin an escape such as %20, or a parameter that is a whole value and, in _filter, has a value',
    );
  }
}

/**
 * The parameters of one membership's policy: name → values. A repeated name means any of its values. References are
 * stored as `Type/id`, strings unchanged.
 */
export type PolicyParameters = ReadonlyMap<string, readonly PolicyValue[]>;

export type PolicyValue =
  | { readonly kind: 'reference'; readonly type: string; readonly id: string }
  | { readonly kind: 'string'; readonly text: string };

/**
 * `%name`, `%name.id` or `Type/%name.id` as a whole value.
 *
 * @returns undefined for text that is not a placeholder; an empty list for one without a value
 */
export function placeholderValues(text: string, parameters: PolicyParameters): readonly string[] | undefined {
  const match = PLACEHOLDER.exec(text);
  if (match === null) return undefined;
  const [, type, name, id] = match as unknown as [string, string | undefined, string, string | undefined];
  const values = parameters.get(name) ?? [];
  if (id === undefined && type === undefined) {
    return values.map((value) => (value.kind === 'string' ? value.text : referenceTo(value.type, value.id)));
  }
  const ids = values.map((value) => (value.kind === 'reference' ? value.id : value.text));
  // Only an id is allowed in place of an id; anything else could name a resource that the policy does not mean. All or
  // none: under `:not`, leaving out one of several values would grant what it excludes.
  if (!ids.every(isResourceId)) return [];
  return type === undefined ? ids : ids.map((found) => referenceTo(type, found));
}

/** The name of the parameter that a text is a placeholder for. */
export function placeholderName(text: string): string | undefined {
  return PLACEHOLDER.exec(text)?.[2];
}

const PLACEHOLDER = /^(?:([A-Z][A-Za-z]*)\/)?%([A-Za-z_][A-Za-z0-9_-]*)(\.id)?$/;

/** True if text contains a placeholder of these parameters, as a whole value or inside other text. */
function mentionsParameter(text: string, parameters: PolicyParameters): boolean {
  return [...text.matchAll(/%([A-Za-z_][A-Za-z0-9_-]*)/g)].some(([, name]) => parameters.has(name!));
}

/**
 * The resources of a type that belong to the compartment of another resource.
 *
 * For a Patient this is HL7's compartment (https://hl7.org/fhir/R4/compartmentdefinition-patient.html) and the Patient
 * itself. HL7 defines no compartment of an Organization or a CareTeam, for example. There it is the resource itself and
 * every resource that refers to it through any reference parameter.
 */
export function compartmentCriteria(
  model: FhirModel,
  type: string,
  owner: { readonly type: string; readonly id: string },
): Criteria {
  const codes = owner.type === 'Patient' ? model.patientCompartment(type) : referenceCodes(model, type, owner.type);
  const references = codes.map((parameter) => refersTo(parameter, owner));
  const itself: Criteria = type === owner.type ? { kind: 'id', ids: [owner.id] } : NONE;
  // A Patient's links to others do not bring those others into its compartment.
  return type === 'Patient' && owner.type === 'Patient' ? itself : or([itself, ...references]);
}

function referenceCodes(model: FhirModel, type: string, target: string): string[] {
  return [...model.searchParameters(type).values()]
    .filter(({ type, targets }) => type === 'reference' && (targets === undefined || targets.includes(target)))
    .map(({ code }) => code);
}
