import { FhirError } from '../../fhir/error.js';
import type { ConceptTest, TokenTest } from '../criteria/value-test.js';
import { splitEscaped, unescape } from './string-criteria.js';
import { foldToken, typedCode } from '../index/index-token.js';
import type { ValueTraits } from '../index/value-traits.js';
import type { ParseContext } from './parse-context.js';
import { quote } from '../../fhir/messages.js';

/** Names that `_filter` predefines. See https://hl7.org/fhir/R4/search_filter.html#ops. */
const SYSTEM_ALIASES: ReadonlyMap<string, string> = new Map([
  ['loinc', 'http://loinc.org'],
  ['snomed', 'http://snomed.info/sct'],
  ['rxnorm', 'http://www.nlm.nih.gov/research/umls/rxnorm'],
  ['ucum', 'http://unitsofmeasure.org'],
]);

/** The facts about a parameter needed to parse its tokens. */
interface TokenParameter {
  readonly code: string;
  /** Default `none`. */
  readonly strings?: ValueTraits['strings'];
}

/**
 * Parses one value of a token parameter: `code`, `system|code`, `|code` or `system|`, still escaped.
 *
 * See https://hl7.org/fhir/R4/search.html#token.
 *
 * @throws FhirError `invalid` - empty on both sides of the bar, or more than one bar.
 */
export function parseTokenValue(
  { code: parameter, strings = 'none' }: TokenParameter,
  text: string,
  context: ParseContext,
): TokenTest {
  const parts = splitEscaped(text, '|').map(unescape);
  const [first, second] = parts as [string, string?];
  if (parts.length > 2 || (first === '' && (second ?? '') === '')) {
    throw new FhirError(
      'invalid',
      `Search parameter "${parameter}" takes code, system|code, |code or system| (a bar within them as "\\|"), not ${quote(text)}`,
    );
  }
  if (second === undefined) return { kind: 'token', ...codeFor(first, strings) };
  if (first === '') return { kind: 'token', noSystem: true, ...codeFor(second, strings) };
  const system = systemNamed(first, context);
  // String values have no system.
  return second === '' ? { kind: 'token', system } : { kind: 'token', system, code: second };
}

/**
 * Parses a value of `:of-type`: `system|code|value`, where system and code are those of the Identifier's type.
 *
 * See https://hl7.org/fhir/R4/search.html#token.
 *
 * @throws FhirError `invalid` - one of the three is missing
 */
export function parseTypedIdentifier(parameter: string, text: string): TokenTest {
  const parts = splitEscaped(text, '|').map(unescape);
  if (parts.length !== 3 || parts.includes('')) {
    throw new FhirError(
      'invalid',
      `Search parameter "${parameter}:of-type" takes system|code|value (a bar within them as "\\|"), not ${quote(text)}`,
    );
  }
  const [system, code, value] = parts as [string, string, string];
  return { kind: 'token', system, code: typedCode(code, value) };
}

/** Parses a value of `:in` and `:not-in`: the canonical of a value set, `url` or `url|version`, or `ValueSet/id`. */
export function valueSetTest(parameter: string, text: string): ConceptTest {
  const url = unescape(text);
  if (/^\S+$/.test(url)) return { kind: 'concept', request: { kind: 'value-set', url } };
  throw new FhirError(
    'invalid',
    `Search parameter "${parameter}" takes the URL of a value set here, not ${quote(text)}`,
  );
}

/** Parses a value of `:above` and `:below`: `system|code`. See https://hl7.org/fhir/R4/search.html#modifiers. */
export function hierarchyTest(
  parameter: string,
  kind: 'above' | 'below',
  text: string,
  context: ParseContext,
): ConceptTest {
  const parts = splitEscaped(text, '|').map(unescape);
  if (parts.length !== 2 || parts.includes('')) {
    throw new FhirError('invalid', `Search parameter "${parameter}" takes system|code here, not ${quote(text)}`);
  }
  const [system, code] = parts as [string, string];
  return { kind: 'concept', request: { kind, system: systemNamed(system, context), code } };
}

/** The literal code and, if the parameter also has string values, the folded one. */
function codeFor(code: string, strings: ValueTraits['strings']): { readonly code: string; readonly folded?: string } {
  const folded = foldToken(code);
  if (strings === 'none' || folded === code) return { code };
  return strings === 'all' ? { code: folded } : { code, folded };
}

/** Resolves a predefined alias of a system; other names are returned unchanged. */
export function systemNamed(text: string, context: ParseContext): string {
  return (context.systemAliases ? SYSTEM_ALIASES.get(text) : undefined) ?? text;
}
