import { isJsonObject } from '../../fhir/resource.js';
import type { ValueIndexer } from './value-indexer.js';
import type { IndexWriter } from './index-writer.js';

const NAME_PARTS = ['family', 'given', 'prefix', 'suffix', 'text'];
const ADDRESS_PARTS = ['line', 'city', 'district', 'state', 'postalCode', 'country', 'text'];

/**
 * String values: the text itself, and each part of a HumanName or Address separately, so that a search matches the
 * beginning of any part. See https://hl7.org/fhir/R4/search.html#string.
 */
export function indexString(type: string): ValueIndexer | undefined {
  if (type === 'HumanName') return partsIndexer(NAME_PARTS);
  if (type === 'Address') return partsIndexer(ADDRESS_PARTS);
  return indexText;
}

function partsIndexer(parts: readonly string[]): ValueIndexer {
  return (value, writer) => {
    if (!isJsonObject(value)) return;
    for (const part of parts) {
      const child = value[part];
      if (child === undefined) continue;
      if (Array.isArray(child)) for (const item of child as readonly unknown[]) indexText(item, writer);
      else indexText(child, writer);
    }
  };
}

function indexText(value: unknown, writer: IndexWriter): void {
  if (typeof value === 'string' && value !== '') writer.addText(value);
}
