import { isJsonObject } from '../../fhir/resource.js';
import type { ValueIndexer } from './value-indexer.js';
import type { IndexWriter } from './index-writer.js';

const NAME_PARTS = ['family', 'given', 'prefix', 'suffix', 'text'];
const ADDRESS_PARTS = ['line', 'city', 'district', 'state', 'postalCode', 'country', 'text'];

/**
 * String values: the text itself, or each part of a HumanName or Address, and all words of these together (under
 * `code:words`, see name-words.ts). See https://hl7.org/fhir/R4/search.html#string.
 */
export function indexString(type: string): ValueIndexer | undefined {
  if (type === 'HumanName') return partsIndexer(NAME_PARTS);
  if (type === 'Address') return partsIndexer(ADDRESS_PARTS);
  return indexText;
}

function partsIndexer(names: readonly string[]): ValueIndexer {
  return (value, writer) => {
    if (!isJsonObject(value)) return;
    const parts = names.flatMap((name) => value[name]).filter(isText);
    if (parts.length > 0) writer.addName(parts);
  };
}

function indexText(value: unknown, writer: IndexWriter): void {
  if (isText(value)) writer.addText(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
