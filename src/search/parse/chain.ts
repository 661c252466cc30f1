import { FhirError } from '../../fhir/error.js';
import { didYouMean, orList, quote } from '../../fhir/messages.js';
import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { or, type Criteria } from '../criteria/criteria.js';
import { valueTraits } from '../index/value-traits.js';
import {
  MAX_CHAIN,
  type ParseContext,
  requireParameter,
  requireResourceType,
  spend,
  tooCostly,
} from './parse-context.js';

/**
 * Follows a reference parameter forwards: the resource references one that meets the criteria of `of`.
 *
 * Without `target` every type the parameter allows is tried; types for which `of` fails (they lack the parameter) are
 * skipped, unless it fails for all. See https://hl7.org/fhir/R4/search.html#chaining.
 *
 * @param of makes the criteria for one target type.
 * @throws FhirError `invalid` - not a reference parameter, an impossible target type, or an error of `of`, with value
 * errors taking precedence over unknown parameters.
 */
export function followReference(
  type: string,
  code: string,
  target: string | undefined,
  context: ParseContext,
  of: (target: string) => Criteria,
): Criteria {
  const parameter = requireReference(context.model, type, code);
  const branches: Criteria[] = [];
  const refusals: FhirError[] = [];
  const candidates = targetTypes(context.model, type, parameter, target);
  const reach = valueTraits(context.model, type, parameter).resources ? { reach: 'inside' as const } : {};
  for (const candidate of candidates) {
    spend(context, 1);
    try {
      branches.push({ kind: 'chain', parameter: code, type: candidate, of: of(candidate), ...reach });
    } catch (error) {
      if (!(error instanceof FhirError) || error.code !== 'invalid') throw error;
      refusals.push(error);
    }
  }
  if (branches.length === 0 && refusals.length > 0)
    throw closestRefusal(context.model, refusals, candidates, { type, code });
  return or(branches);
}

/** Value errors take precedence over unknown names, and names further along the chain over earlier ones. */
function closestRefusal(
  model: FhirModel,
  refusals: readonly FhirError[],
  candidates: readonly string[],
  { type, code }: { readonly type: string; readonly code: string },
): FhirError {
  const other = refusals.find(({ details }) => details?.['unknownParameter'] === undefined);
  const farther = refusals.find(({ details }) => !candidates.includes(details?.['type'] as string));
  const [first] = refusals as readonly [FhirError];
  if (candidates.length < 2 || other !== undefined || farther !== undefined) return other ?? farther ?? first;
  const unknown = first.details!['unknownParameter'] as string;
  const suggestion = didYouMean(unknown, new Set(candidates.flatMap((one) => [...model.searchParameters(one).keys()])));
  const message = `Unknown search parameter ${quote(unknown)} of ${orList(candidates)}, which "${code}" of ${type} can point to.`;
  return new FhirError('invalid', message + suggestion, { details: { unknownParameter: unknown, type } });
}

/**
 * Follows a reference parameter backwards: a `source` resource that meets the criteria of `of` references this one.
 *
 * See https://hl7.org/fhir/R4/search.html#has.
 *
 * @throws FhirError `invalid` - unknown source type, not a reference parameter, or it cannot point to `type`.
 */
function followReverse(
  type: string,
  source: string,
  code: string,
  context: ParseContext,
  of: (source: string) => Criteria,
): Criteria {
  const { targets } = requireReference(context.model, requireResourceType(context.model, source), code);
  if (targets !== undefined && !targets.includes(type)) {
    throw new FhirError(
      'invalid',
      `Search parameter "${code}" of ${source} cannot point to ${type}, only to ${orList(targets)}`,
    );
  }
  spend(context, 1);
  return { kind: 'has', type: source, parameter: code, of: of(source) };
}

/**
 * The target types of a reference parameter, narrowed to `target` if given.
 *
 * @throws FhirError `invalid` - the parameter cannot point to `target`, or it can point to any type and none is given.
 */
export function targetTypes(
  model: FhirModel,
  type: string,
  parameter: SearchParameterDefinition,
  target: string | undefined,
): readonly string[] {
  const { code, targets } = parameter;
  if (target === undefined) {
    if (targets !== undefined) return targets;
    throw new FhirError('invalid', `"${code}" of ${type} can point to any type: name one, as in "${code}:Patient"`);
  }
  requireResourceType(model, target);
  if (targets === undefined || targets.includes(target)) return [target];
  throw new FhirError(
    'invalid',
    `Search parameter "${code}" of ${type} cannot point to ${target}, only to ${orList(targets)}`,
  );
}

function requireReference(model: FhirModel, type: string, code: string): SearchParameterDefinition {
  const parameter = requireParameter(model, type, code);
  if (parameter.type === 'reference') return parameter;
  throw new FhirError(
    'invalid',
    `Only reference parameters can be followed, but ${quote(code)} of ${type} is of type ${parameter.type}`,
  );
}

/** Creates the criteria of the last parameter of a name. */
type LastParameter = (type: string, code: string, modifier: string | undefined) => Criteria;

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
