import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import { FhirError } from '../../fhir/error.js';
import { didYouMean, quote } from '../../fhir/messages.js';

/** Parameters of the specification that are not based on elements and are not supported. */
const UNSUPPORTED: ReadonlySet<string> = new Set(['_text', '_content', '_query', '_list', '_type', '_score']);

/**
 * Looks up the definition of a search parameter.
 *
 * @throws FhirError `invalid` - unknown type or unknown parameter (then with `details.unknownParameter`); the message
 * suggests similar names.
 * @throws FhirError `unsupported` - defined by FHIR, but not supported (`_text`, type `special`).
 */
export function requireParameter(model: FhirModel, type: string, code: string): SearchParameterDefinition {
  const definition = model.searchParameter(requireResourceType(model, type), code);
  if (UNSUPPORTED.has(code)) throw new FhirError('unsupported', `Search parameter "${code}" is not supported`);
  if (definition === undefined) {
    const suggestion = didYouMean(code, model.searchParameters(type).keys());
    throw new FhirError('invalid', `Unknown search parameter ${quote(code)} of ${type}.${suggestion}`, {
      details: { unknownParameter: code.slice(0, 40), type },
    });
  }
  if (definition.type === 'special') {
    throw new FhirError(
      'unsupported',
      `Search parameter "${code}" of ${type} is of type special, which is not supported`,
    );
  }
  return definition;
}

/**
 * Asserts that a name is a resource type and returns it.
 *
 * @throws FhirError `invalid` - unknown; the message suggests similar names.
 */
export function requireResourceType(model: FhirModel, name: unknown): string {
  if (typeof name !== 'string') throw new FhirError('invalid', 'The name of a resource type must be a string');
  if (model.isResourceType(name)) return name;
  throw new FhirError('invalid', `Unknown resource type ${quote(name)}.${didYouMean(name, model.resourceTypes)}`);
}
