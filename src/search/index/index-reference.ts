import { parseReference } from '../../fhir/reference.js';
import { isJsonObject, isResourceId } from '../../fhir/resource.js';
import { isA } from '../../fhir/definitions.js';
import { identifierToken } from './index-token.js';
import type { ValueIndexer } from './value-indexer.js';
import type { IndexWriter } from './index-writer.js';

/**
 * Reference values: `Type/id` of local references, the URL of others and of canonicals, the identifier of logical ones
 * (under `code:identifier`). Contained resources are no targets of a search.
 *
 * See https://hl7.org/fhir/R4/search.html#reference.
 */
export function indexReference(type: string): ValueIndexer | undefined {
  return INDEXERS.get(type) ?? (isA(type, 'Resource') ? indexResource : undefined);
}

const INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ['Reference', indexReferenceElement],
  ...['canonical', 'uri', 'url'].map((type): [string, ValueIndexer] => [type, indexUrl]),
]);

function indexReferenceElement(reference: unknown, writer: IndexWriter): void {
  if (!isJsonObject(reference)) return;
  if (typeof reference.reference === 'string') indexLiteral(reference.reference, writer);
  if (reference.identifier === undefined) return;
  const token = identifierToken(reference.identifier);
  if (token !== undefined) writer.addBeside(':identifier', token);
}

function indexLiteral(text: string, writer: IndexWriter): void {
  const parsed = parseReference(text);
  if (parsed?.kind === 'local') writer.add({ kind: 'reference', type: parsed.type, id: parsed.id });
  if (parsed?.kind === 'foreign') writer.add({ kind: 'reference', url: parsed.url });
  if (parsed?.kind === 'urn') writer.add({ kind: 'reference', url: parsed.urn });
}

/** A resource inside (`Bundle.entry.resource`): a reference to it. */
function indexResource(resource: unknown, writer: IndexWriter): void {
  if (!isJsonObject(resource) || typeof resource.resourceType !== 'string' || !isResourceId(resource.id)) return;
  writer.add({ kind: 'reference', type: resource.resourceType, id: resource.id });
}

/** A canonical points out of the store by its URL, unless it is written as a relative reference or a fragment. */
function indexUrl(value: unknown, writer: IndexWriter): void {
  if (typeof value !== 'string' || value === '') return;
  const parsed = parseReference(value);
  if (parsed?.kind === 'contained' || parsed?.kind === 'container') return;
  if (parsed?.kind === 'local') writer.add({ kind: 'reference', type: parsed.type, id: parsed.id });
  else writer.add({ kind: 'reference', url: value });
}
