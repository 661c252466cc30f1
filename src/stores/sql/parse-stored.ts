import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import { oncePer } from '../../platform/collections.js';
import { isoInstant } from '../../platform/iso-instant.js';
import { elementReader } from '../../store/element-reader.js';
import { mapInTurns, Pace } from '../../platform/pace.js';
import { parseJsonText } from '../../store/json-text.js';
import type { StoredResource } from '../../store/stored-resource.js';

/** Parses a version's text into a resource and the facts in its `meta`. @throws FhirError `corrupt` */
export function parseStored(text: string): StoredResource {
  return withFacts(unlessDamaged(() => parseJsonText(text)));
}

/**
 * {@link parseStored} with at least these elements, and `meta`.
 *
 * @param elements undefined: all
 */
export function parseStoredPart(text: string, elements: readonly string[] | undefined): StoredResource {
  const reader = elements && elementReader(withMeta(elements));
  if (reader === undefined || reader.prefersWhole(text)) return parseStored(text);
  return withFacts(unlessDamaged(() => reader.read(text)));
}

/** {@link parseStoredPart} of many texts; other work runs between them. */
export function parseStoredParts(
  texts: readonly string[],
  elements: readonly string[] | undefined,
): Promise<StoredResource[]> {
  return mapInTurns(texts, new Pace(), (text) => parseStoredPart(text, elements));
}

/** {@link parseStored} with at least these elements, and with the facts given by the caller. */
export function parseElements(
  text: string,
  elements: readonly string[],
  versionId: number,
  updated: number,
): StoredResource {
  const reader = elementReader(elements);
  if (reader.prefersWhole(text)) return parseStored(text);
  const resource = unlessDamaged(() => reader.read(text));
  return new LoadedResource(String(versionId), isoInstant(updated), resource);
}

function withFacts(resource: AnyResource): StoredResource {
  const { versionId, lastUpdated } = resource.meta ?? {};
  if (versionId === undefined || lastUpdated === undefined) {
    throw new FhirError('corrupt', 'The database holds a resource without a version');
  }
  return new LoadedResource(versionId, lastUpdated, resource);
}

/**
 * The resource of a text.
 *
 * PERF (scale): if objects of a literal survive garbage collections, V8 allocates later objects of that literal in its old
 * generation. There each keeps its resource until a full collection, long after its request. V8 never does that with
 * instances of a class.
 */
class LoadedResource implements StoredResource {
  constructor(
    readonly versionId: string,
    readonly lastUpdated: string,
    readonly resource: AnyResource,
  ) {}
}

/** Readers are cached by their lists. */
const withMeta = oncePer((elements: readonly string[]): readonly string[] => [...elements, 'meta']);

function unlessDamaged(parse: () => AnyResource): AnyResource {
  try {
    return parse();
  } catch (cause) {
    if (cause instanceof FhirError) throw cause;
    throw new FhirError('corrupt', 'The database holds a resource that is not JSON', { cause });
  }
}
