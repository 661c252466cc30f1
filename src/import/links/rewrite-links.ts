import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource, JsonObject } from '../../fhir/resource.js';

/** Maps a link to its replacement; undefined leaves it unchanged. A replacement for a `uri` also applies to a `url`. */
export type LinkLookup = (link: string, kind: LinkKind) => string | undefined;

/**
 * The kind of element with the link.
 *
 * - `reference`: `Reference.reference`
 * - `url`: an element of type url, oid or uuid, or an `href` or `src` in the narrative
 * - `uri`: an element of type uri, which can also be canonical URLs and code systems
 */
type LinkKind = 'reference' | 'url' | 'uri';

/**
 * Replaces links in a resource wherever the transaction rules of FHIR look for them; elements of type canonical are
 * never touched. See https://hl7.org/fhir/R4/http.html#trules.
 *
 * The input is not changed; without replacements, the input itself is returned.
 */
export function rewriteLinks<Resource extends AnyResource>(
  model: FhirModel,
  resource: Resource,
  lookup: LinkLookup,
): Resource {
  const walk: Walk = { model, lookup, objects: [], names: [] };
  return rewriteObject(resource as unknown as JsonObject, walk) as unknown as Resource;
}

/**
 * One walk: `objects` leads from the resource to the holder of the current value, and `names` are those of the next
 * object, or of the value, in each of them. PERF: two lists, because an object per step took a quarter of the time.
 */
interface Walk {
  readonly model: FhirModel;
  readonly lookup: LinkLookup;
  readonly objects: JsonObject[];
  readonly names: string[];
}

function rewriteObject(object: JsonObject, walk: Walk): JsonObject {
  let copy: { [key: string]: unknown } | undefined;
  const depth = walk.objects.push(object) - 1;
  for (const name in object) {
    const value = object[name];
    let replaced: unknown;
    if (typeof value === 'string') {
      replaced = rewriteText(value, name, walk);
    } else if (typeof value === 'object' && value !== null) {
      walk.names[depth] = name;
      replaced = Array.isArray(value) ? rewriteArray(value, name, walk) : rewriteObject(value as JsonObject, walk);
    } else {
      continue;
    }
    if (replaced !== value) {
      copy ??= { ...object };
      copy[name] = replaced;
    }
  }
  walk.objects.pop();
  return copy ?? object;
}

function rewriteArray(array: readonly unknown[], name: string, walk: Walk): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < array.length; index++) {
    const item = array[index];
    let replaced: unknown = item;
    if (typeof item === 'string') {
      replaced = rewriteText(item, name, walk);
    } else if (typeof item === 'object' && item !== null) {
      replaced = Array.isArray(item) ? rewriteArray(item, name, walk) : rewriteObject(item as JsonObject, walk);
    }
    if (replaced !== item) {
      copy ??= [...array];
      copy[index] = replaced;
    }
  }
  return copy ?? array;
}

function rewriteText(text: string, name: string, walk: Walk): string {
  // All string elements of this name are literal references or, in three types, uris that FHIR treats the same way.
  if (name === 'reference') return walk.lookup(text, 'reference') ?? text;
  if (name === 'div') return rewriteNarrative(text, walk.lookup);
  // PERF: types are looked up only for the few strings to be replaced. A replacement for a uri also applies to a url.
  const replaced = walk.lookup(text, 'url');
  if (replaced === undefined) return text;
  switch (elementType(name, walk)) {
    case 'uri':
      return walk.lookup(text, 'uri') ?? text;
    case 'url':
    case 'oid':
    case 'uuid':
      return replaced;
    default:
      return text;
  }
}

const NARRATIVE_LINK = /(<(?:a|img)\s[^<>]*?\b(?:href|src)\s*=\s*)("[^"<>]*"|'[^'<>]*')/gi;

function rewriteNarrative(div: string, lookup: LinkLookup): string {
  if (!div.includes('href') && !div.includes('src')) return div;
  return div.replace(NARRATIVE_LINK, (whole, before: string, quoted: string) => {
    const replaced = lookup(quoted.slice(1, -1), 'url');
    return replaced === undefined ? whole : `${before}${quoted[0]}${replaced}${quoted[0]}`;
  });
}

/** The type of an element of the last object, by its path; undefined for unknown paths. */
function elementType(name: string, { model, objects, names }: Walk): string | undefined {
  // A contained resource starts a new path.
  let start = objects.length - 1;
  while (start > 0 && typeof objects[start]!['resourceType'] !== 'string') start--;
  let type = objects[start]!['resourceType'];
  for (const step of [...names.slice(start, objects.length - 1), name]) {
    type = typeof type === 'string' ? model.typeDefinition(type)?.elements.get(step)?.type : undefined;
  }
  return typeof type === 'string' ? type : undefined;
}
