import { FhirError } from '../../fhir/error.js';
import type { TokenTest } from '../criteria/criteria.js';
import { splitEscaped, unescape } from './escapes.js';
import type { ParseContext } from './parse-context.js';
import { quote } from '../../fhir/messages/quote.js';

/** Names that `_filter` predefines. See https://hl7.org/fhir/R4/search_filter.html#ops. */
const SYSTEM_ALIASES: ReadonlyMap<string, string> = new Map([
  ['loinc', 'http://loinc.org'],
  ['snomed', 'http://snomed.info/sct'],
  ['rxnorm', 'http://www.nlm.nih.gov/research/umls/rxnorm'],
  ['ucum', 'http://unitsofmeasure.org'],
]);

/**
 * One value of a token parameter: `code`, `system|code`, `|code` or `system|`, still escaped.
 *
 * See https://hl7.org/fhir/R4/search.html#token.
 *
 * @throws FhirError `invalid` - nothing on either side of the bar, or more than one bar.
 */
export function parseTokenValue(parameter: string, text: string, context: ParseContext): TokenTest {
  const parts = splitEscaped(text, '|').map(unescape);
  const [first, second] = parts as [string, string?];
  if (parts.length > 2 || (first === '' && (second ?? '') === '')) {
    throw new FhirError(
      'invalid',
      `Search parameter "${parameter}" takes code, system|code, |code or system| (a bar within them as "\\|"), not ${quote(text)}`,
    );
  }
  if (second === undefined) return { kind: 'token', code: first };
  if (first === '') return { kind: 'token', noSystem: true, code: second };
  const system = systemNamed(first, context);
  return second === '' ? { kind: 'token', system } : { kind: 'token', system, code: second };
}

/** The system itself, or the one it is a predefined name of. */
export function systemNamed(text: string, context: ParseContext): string {
  return (context.systemAliases ? SYSTEM_ALIASES.get(text) : undefined) ?? text;
}
