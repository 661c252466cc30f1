import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import { elementReader } from '../../store/element-reader.js';
import { parseJsonText } from '../../store/json-text.js';
import type { StoredResource } from '../../store/store.js';

/**
 * Parses a version's text into a resource and the facts in its `meta`.
 *
 * @param elements those that are needed beside `meta`. Default: all
 * @throws FhirError `corrupt`
 */
export function parseStored(text: string, elements?: readonly string[]): StoredResource {
  const resource =
    elements === undefined ? unlessDamaged(() => parseJsonText(text)) : parseElements(text, withMeta(elements));
  const { versionId, lastUpdated } = resource.meta ?? {};
  if (versionId === undefined || lastUpdated === undefined) {
    throw new FhirError('corrupt', 'The database holds a resource without a version');
  }
  return { versionId, lastUpdated, resource };
}

/** The resource of a version's text with at least these elements. @throws FhirError `corrupt` */
export function parseElements(text: string, elements: readonly string[]): AnyResource {
  return unlessDamaged(() => elementReader(elements).read(text));
}

/** PERF: readers are cached by their lists. */
function withMeta(elements: readonly string[]): readonly string[] {
  let longer = LISTS_WITH_META.get(elements);
  if (longer === undefined) LISTS_WITH_META.set(elements, (longer = [...elements, 'meta']));
  return longer;
}

const LISTS_WITH_META = new WeakMap<readonly string[], readonly string[]>();

function unlessDamaged(parse: () => AnyResource): AnyResource {
  try {
    return parse();
  } catch (cause) {
    throw new FhirError('corrupt', 'The database holds a resource that is not JSON', { cause });
  }
}
