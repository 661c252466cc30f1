import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages.js';
import { requireParameter, requireResourceType } from '../../search/parse/parse-context.js';

/** One `_include` or `_revinclude`. See https://hl7.org/fhir/R4/search.html#include. */
export interface Include {
  readonly direction: 'forward' | 'reverse';
  /** The type that has the reference; forward also {@link ANY}. */
  readonly source: string;
  /** The code of its reference parameter; forward also {@link ANY}. */
  readonly parameter: string;
  /** The only type of targets; undefined for all that the parameter allows. */
  readonly target: string | undefined;
  /** Also follows references of included resources. */
  readonly iterate: boolean;
}

/** Every type, or every reference parameter. */
const ANY = '*';

/**
 * Reads `Observation:subject`, `Observation:subject:Patient`, `Observation:*` and `*`.
 *
 * @param name `_include`, `_revinclude`, with `:iterate` or without
 * @param type the type that is searched
 * @returns one, or one for each parameter of a `_revinclude` with a wildcard
 * @throws FhirError `invalid` - malformed, or it can include nothing
 * @throws FhirError `unsupported` - `_revinclude=*`
 */
export function parseIncludes(model: FhirModel, type: string, name: string, value: string): readonly Include[] {
  const [base, modifier, ...more] = name.split(':');
  const iterate = modifier === 'iterate';
  if ((modifier !== undefined && !iterate) || more.length > 0) {
    throw new FhirError('invalid', `"${base!}" takes the modifier ":iterate" only`);
  }
  const direction = base === '_include' ? 'forward' : 'reverse';
  const [named, parameter, target, ...rest] = value === ANY ? [ANY, ANY] : value.split(':');
  if (named === undefined || parameter === undefined || rest.length > 0) {
    throw new FhirError('invalid', `"${base!}" takes Type:parameter or Type:parameter:TargetType, not ${quote(value)}`);
  }
  // Without `:iterate`, an include starts only from the matches.
  const source = named === ANY && !iterate ? type : named;
  if (direction === 'reverse' && named === ANY) {
    throw new FhirError('unsupported', '"_revinclude" of every type is not supported; name the types: Observation:*');
  }
  if (target !== undefined) requireResourceType(model, target);
  if (source !== ANY) requireResourceType(model, source);
  if (parameter !== ANY) assertLeads(model, base!, { source, parameter, target });
  const include: Include = { direction, source, parameter, target, iterate };
  const found = parameter === ANY && direction === 'reverse' ? parametersOf(model, include) : [include];
  const begun = found.filter((one) => one.iterate || begins(model, type, one));
  if (begun.length > 0) return begun;
  throw new FhirError(
    'invalid',
    `"${base!}=${value}" does not begin at ${type}; to start from included resources, add ":iterate"`,
  );
}

/** Spells out a wildcard for resources of one type; any other include stays as it is. */
export function includesFrom(model: FhirModel, type: string, include: Include): readonly Include[] {
  if (include.source !== ANY && include.source !== type) return [];
  return include.parameter === ANY ? parametersOf(model, { ...include, source: type }) : [include];
}

/** One include for each reference parameter of the source that leads to the target. */
function parametersOf(model: FhirModel, include: Include): readonly Include[] {
  const { source, target } = include;
  return [...model.searchParameters(source).values()]
    .filter(({ type }) => type === 'reference')
    .filter(({ targets }) => target === undefined || targets?.includes(target) !== false)
    .map(({ code }) => ({ ...include, parameter: code }));
}

/** @throws FhirError `invalid` - not a reference parameter, or one that does not lead to the target */
function assertLeads(
  model: FhirModel,
  base: string,
  { source, parameter, target }: Pick<Include, 'source' | 'parameter' | 'target'>,
): void {
  const { type, targets } = requireParameter(model, source, parameter);
  if (type !== 'reference') {
    throw new FhirError(
      'invalid',
      `"${base}" follows references, and "${parameter}" of ${source} is not a reference parameter`,
    );
  }
  if (target !== undefined && targets?.includes(target) === false) {
    throw new FhirError('invalid', `"${parameter}" of ${source} does not lead to ${target}`);
  }
}

/** Whether an include can begin at the type that is searched. */
function begins(model: FhirModel, type: string, { direction, source, parameter, target }: Include): boolean {
  if (direction === 'forward') return source === type;
  const reached = target === undefined ? model.searchParameter(source, parameter)?.targets : [target];
  return reached?.includes(type) !== false;
}
