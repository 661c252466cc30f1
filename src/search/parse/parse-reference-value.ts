import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import { FhirError } from '../../fhir/error.js';
import { parseReference, withoutVersion } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';
import type { ReferenceTest } from '../criteria/value-test.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import type { ValueTraits } from '../index/value-traits.js';
import type { ParseContext } from './parse-context.js';
import { orList, quote } from '../../fhir/messages/quote.js';

/**
 * Parses one value of a reference parameter.
 *
 * | text | matches |
 * |---|---|
 * | `123` | that id in any type the parameter can point to |
 * | `Patient/123`, `Patient/123/_history/2`, the same below the own base | that resource; the version is ignored |
 * | `http://…`, `http://…\|1.0`, `urn:…` | that URL; a canonical without version matches every version; the version of another URL is ignored |
 *
 * See https://hl7.org/fhir/R4/search.html#reference.
 *
 * @param targets the types that a bare id may belong to; undefined: any.
 * @throws FhirError `invalid` - the text has none of these forms.
 */
export function parseReferenceValue(
  parameter: Pick<SearchParameterDefinition, 'code'> & Partial<Pick<ValueTraits, 'canonicals'>>,
  targets: readonly string[] | undefined,
  text: string,
  context: ParseContext,
): ReferenceTest {
  if (isResourceId(text)) {
    return targets === undefined ? { kind: 'reference', id: text } : { kind: 'reference', types: targets, id: text };
  }
  // A canonical is compared literally, whatever its base.
  const reference = parseReference(text, parameter.canonicals === true ? undefined : context.baseUrl);
  switch (reference?.kind) {
    case 'local':
      if (!context.model.isResourceType(reference.type)) {
        throw new FhirError(
          'invalid',
          `Unknown resource type ${quote(reference.type)} in a value of search parameter "${parameter.code}".${didYouMean(reference.type, context.model.resourceTypes)}`,
        );
      }
      return { kind: 'reference', types: [reference.type], id: reference.id };
    case 'foreign':
      return { kind: 'reference', url: withoutVersion(reference.url) };
    case 'urn':
      return { kind: 'reference', url: reference.urn };
    default: {
      const reference = targets === undefined ? 'a reference such as Patient/123' : `a reference to ${orList(targets)}`;
      const forms = [
        'an id',
        `${reference}${targets === undefined ? '' : ` such as ${targets[0]}/123`}`,
        'an absolute URL',
      ];
      throw new FhirError('invalid', `Search parameter "${parameter.code}" takes ${orList(forms)}, not ${quote(text)}`);
    }
  }
}
