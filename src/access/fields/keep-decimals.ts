import { copyElement, copyObject } from '../../fhir/json/decimal-texts.js';
import { hasDecimalText } from '../../fhir/json/stringify-json.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';

/**
 * Copies the digits of decimals at some paths from another resource: a caller who may not change a value may not change
 * its precision either. Clients that parse JSON into numbers send `1` back for `1.00`, so a different precision is no
 * reason to refuse.
 *
 * @param shown equals the resource at these paths, apart from how decimals are written
 */
export function withDecimalsOf(shown: AnyResource, asked: AnyResource, paths: readonly string[]): AnyResource {
  if (paths.length === 0 || !(hasDecimalText(shown) || hasDecimalText(asked))) return asked;
  const after = paths.reduce((one, path) => rewritten(elementsOf(shown), one, path.split('.')), elementsOf(asked));
  return after as unknown as AnyResource;
}

function rewritten(shown: JsonObject, asked: JsonObject, [head, ...rest]: readonly string[]): JsonObject {
  const copy: { [name: string]: unknown } = copyObject(asked);
  for (const name of [head!, `_${head!}`]) {
    if (!Object.hasOwn(shown, name) || !Object.hasOwn(asked, name)) continue;
    if (rest.length === 0) copyElement(copy, name, shown);
    else copy[name] = inside(shown[name], asked[name], rest);
  }
  return copy;
}

function inside(shown: unknown, asked: unknown, path: readonly string[]): unknown {
  if (Array.isArray(shown) && Array.isArray(asked)) return asked.map((item, at) => inside(shown[at], item, path));
  return isJsonObject(shown) && isJsonObject(asked) ? rewritten(shown, asked, path) : asked;
}
