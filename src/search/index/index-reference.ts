import type { Container } from '../../fhir/container.js';
import { parseReference, withoutVersion } from '../../fhir/reference.js';
import { isJsonObject } from '../../fhir/resource.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { identifierToken } from './index-token.js';
import type { ValueIndexer } from './value-indexer.js';
import type { IndexWriter } from './index-writer.js';

/**
 * Reference values: `Type/id` of local references, the URL of others and of canonicals, the identifier of logical ones
 * (under `code:identifier`), the number of a contained resource (under `code#Type`), and a presence marker for
 * references with none of these (under `code:present`).
 *
 * See https://hl7.org/fhir/R4/search.html#reference.
 */
export function indexReference(model: FhirModel, type: string): ValueIndexer | undefined {
  return INDEXERS.get(type) ?? (model.isA(type, 'Resource') ? indexResource : undefined);
}

const INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ['Reference', indexReferenceElement],
  ...['canonical', 'uri', 'url'].map((type): [string, ValueIndexer] => [type, indexUrl]),
]);

function indexReferenceElement(reference: unknown, writer: IndexWriter): void {
  if (!isJsonObject(reference)) return;
  const { reference: text, identifier } = reference;
  const literal = typeof text === 'string' && indexLiteral(text, writer.containerOf(reference), writer);
  const token = identifier === undefined ? undefined : identifierToken(identifier);
  if (token !== undefined) writer.addBeside(':identifier', token);
  if (
    !literal &&
    token === undefined &&
    SIGNS.some((name) => isText(reference[name]) || isJsonObject(reference[name]))
  ) {
    writer.markPresent();
  }
}

/** The members that make a Reference count as present. */
const SIGNS = ['reference', 'identifier', 'display', 'type'] as const;

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** @returns true if the reference was indexed */
function indexLiteral(text: string, container: Container, writer: IndexWriter): boolean {
  const target = container.resolve(text);
  if (target?.kind === 'local') {
    writer.add({ kind: 'reference', type: target.type, id: target.id });
    return true;
  }
  const inside =
    target?.kind === 'inside' && text !== '#' ? writer.insides.add(target.resource, target.container) : undefined;
  if (inside !== undefined) writer.link(inside);
  return addUrl(container.absolute(text), writer);
}

/** @returns false for text that is not an absolute URL */
function addUrl(text: string | undefined, writer: IndexWriter): boolean {
  const parsed = text === undefined ? undefined : parseReference(text);
  if (parsed?.kind === 'foreign') writer.add({ kind: 'reference', url: withoutVersion(parsed.url) });
  else if (parsed?.kind === 'urn') writer.add({ kind: 'reference', url: parsed.urn });
  else return false;
  return true;
}

/**
 * Indexes a resource in a Bundle (`Bundle.entry.resource`) as a reference to it, by the `fullUrl` of its entry. It is no
 * resource of this service, whatever its id.
 */
function indexResource(resource: unknown, writer: IndexWriter): void {
  if (!isJsonObject(resource) || typeof resource.resourceType !== 'string') return;
  const container = writer.container.within(resource);
  const inside = writer.insides.add(resource, container);
  if (inside !== undefined) writer.link(inside);
  if (!addUrl(container.url, writer)) writer.markPresent();
}

/** A canonical is indexed by its URL, unless it is a relative reference or a fragment. */
function indexUrl(value: unknown, writer: IndexWriter): void {
  if (typeof value !== 'string' || value === '') return;
  const target = writer.container.resolve(value);
  if (target?.kind === 'local') writer.add({ kind: 'reference', type: target.type, id: target.id });
  else if (value.startsWith('#') || (target?.kind === 'nowhere' && target.reason === 'base')) writer.markPresent();
  else writer.add({ kind: 'reference', url: writer.container.absolute(value) });
}
