import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages/quote.js';
import { requireParameter, requireResourceType } from '../../search/parse/require-parameter.js';

/** One `_include` or `_revinclude`. See https://hl7.org/fhir/R4/search.html#include. */
export interface Include {
  readonly direction: 'forward' | 'reverse';
  /** The type that has the reference. */
  readonly source: string;
  /** The code of its reference parameter. */
  readonly parameter: string;
  /** The only type of targets; undefined for all that the parameter allows. */
  readonly target: string | undefined;
  /** Also follows references of included resources. */
  readonly iterate: boolean;
}

/**
 * Reads `Observation:subject`, `Observation:subject:Patient`.
 *
 * @param name `_include`, `_revinclude`, with `:iterate` or without
 * @param type the type that is searched
 * @throws FhirError `invalid` - malformed, or it can include nothing
 * @throws FhirError `unsupported` - a wildcard
 */
export function parseInclude(model: FhirModel, type: string, name: string, value: string): Include {
  const [base, modifier, ...more] = name.split(':');
  const iterate = modifier === 'iterate';
  if ((modifier !== undefined && !iterate) || more.length > 0) {
    throw new FhirError('invalid', `"${base!}" takes the modifier ":iterate" only`);
  }
  if (value.split(':').includes('*')) {
    throw new FhirError('unsupported', `"${base!}" with a wildcard is not supported; name the parameters`);
  }
  const [source, parameter, target, ...rest] = value.split(':');
  if (source === undefined || parameter === undefined || rest.length > 0) {
    throw new FhirError('invalid', `"${base!}" takes Type:parameter or Type:parameter:TargetType, not ${quote(value)}`);
  }
  const { type: kind, targets } = requireParameter(model, source, parameter);
  if (kind !== 'reference') {
    throw new FhirError(
      'invalid',
      `"${base!}" follows references, and "${parameter}" of ${source} is not a reference parameter`,
    );
  }
  if (target !== undefined && targets?.includes(requireResourceType(model, target)) === false) {
    throw new FhirError('invalid', `"${parameter}" of ${source} does not lead to ${target}`);
  }
  const direction = base === '_include' ? 'forward' : 'reverse';
  const reached = target === undefined ? targets : [target];
  const begins = direction === 'forward' ? source === type : reached?.includes(type) !== false;
  if (!iterate && !begins) {
    throw new FhirError('invalid', `"${base!}=${value}" does not begin at ${type}; what was included needs ":iterate"`);
  }
  return { direction, source, parameter, target, iterate };
}
