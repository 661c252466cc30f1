import { FhirError } from '../../fhir/error.js';
import { followReference, followReverse } from './chain.js';
import type { Criteria } from '../criteria/criteria.js';
import { MAX_CHAIN, tooCostly, type ParseContext } from './parse-context.js';
import { quote } from '../../fhir/messages/quote.js';

/** Creates the criteria of the last parameter of a name. */
export type LastParameter = (type: string, code: string, modifier: string | undefined) => Criteria;

/**
 * Walks a parameter's name from the searched type to the parameter with the value.
 *
 * | name | walk |
 * |---|---|
 * | `code`, `code:not` | the parameter itself, with its modifier |
 * | `subject.name`, `subject:Patient.name:exact` | forwards over `subject`, then as above on the target |
 * | `_has:Observation:patient:code` | backwards over `Observation.patient`, then as above on the Observation |
 *
 * @param last creates the criteria at the end, once per type reached.
 * @throws FhirError `too-costly` - more than {@link MAX_CHAIN} steps.
 */
export function walkName(type: string, name: string, context: ParseContext, last: LastParameter): Criteria {
  const steps = name.split('.').length + name.split('_has:').length - 2;
  if (steps > MAX_CHAIN) throw tooCostly('steps in one chain', MAX_CHAIN, steps, 'search in two requests');
  return walk(type, name, context, last);
}

function walk(type: string, name: string, context: ParseContext, last: LastParameter): Criteria {
  if (name === '_has' || name.startsWith('_has:')) {
    const [, source, parameter, rest] = /^_has:([^:.]+):([^:.]+):(.+)$/s.exec(name) ?? [];
    if (source === undefined || parameter === undefined || rest === undefined) {
      throw new FhirError('invalid', `Reverse chains look like "_has:Observation:patient:code", not ${quote(name)}`);
    }
    return followReverse(type, source, parameter, context, (next) => walk(next, rest, context, last));
  }
  const [head, rest] = cut(name, '.');
  const [code, afterColon] = cut(head, ':');
  if (rest === undefined) return last(type, code, afterColon);
  return followReference(type, code, afterColon, context, (next) => walk(next, rest, context, last));
}

/** Splits at the first separator. */
function cut(text: string, separator: string): readonly [string, string | undefined] {
  const position = text.indexOf(separator);
  return position === -1 ? [text, undefined] : [text.slice(0, position), text.slice(position + 1)];
}
