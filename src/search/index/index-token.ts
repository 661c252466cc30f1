import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { caseFold } from './fold.js';
import type { TokenValue } from './index-entry.js';
import type { ValueIndexer, IndexWriter } from './index-writer.js';
import { STRING_TYPES } from './value-traits.js';

/**
 * Token values. See https://hl7.org/fhir/R4/search.html#token.
 *
 * | type | system | code | texts |
 * |---|---|---|---|
 * | Coding | `system` | `code` | `display` |
 * | CodeableConcept | of each coding | of each coding | `display`, and `text` of the concept |
 * | Identifier | `system` | `value` | `type.text` |
 * | ContactPoint | none | `value` | |
 * | string, markdown | none | the value without case: searches ignore the case of strings | |
 * | boolean, uri, id … | none | the value | |
 * | code | none, and a second entry with the system of its binding | the value | |
 *
 * A `code` element has no system of its own; its value set has. Both `|male` and
 * `http://hl7.org/fhir/administrative-gender|male` are valid searches for it, which takes two entries.
 *
 * @param codeSystem the one system of a `code` element's required binding, if there is exactly one.
 */
export function indexToken(type: string, codeSystem?: string): ValueIndexer | undefined {
  if (type === 'code' && codeSystem !== undefined) return boundCodeIndexer(codeSystem);
  return INDEXERS.get(type);
}

const INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ['CodeableConcept', indexConcept],
  ['Coding', (coding, writer) => indexCoding(coding, undefined, writer)],
  ['Identifier', indexIdentifier],
  ['ContactPoint', indexContactPoint],
  ['boolean', indexBoolean],
  ...['code', 'id', 'uri', 'url', 'canonical', 'oid', 'uuid'].map((type): [string, ValueIndexer] => [type, indexText]),
  ...[...STRING_TYPES].map((type): [string, ValueIndexer] => [type, indexString]),
]);

/** Folds a string value of a token parameter. */
export function foldToken(text: string): string {
  return caseFold(text);
}

/** The token of an Identifier, also searched by `:identifier` on references. */
export function identifierToken(identifier: unknown): TokenValue | undefined {
  if (!isJsonObject(identifier)) return undefined;
  const label = isJsonObject(identifier.type) ? text(identifier.type.text) : undefined;
  return token(text(identifier.system), text(identifier.value), label === undefined ? undefined : [label]);
}

function indexConcept(concept: unknown, writer: IndexWriter): void {
  if (!isJsonObject(concept)) return;
  const label = text(concept.text);
  const before = writer.entries.length;
  if (Array.isArray(concept.coding)) {
    for (const coding of concept.coding as readonly unknown[]) indexCoding(coding, label, writer);
  }
  if (label !== undefined && writer.entries.length === before) add(token(undefined, undefined, [label]), writer);
}

function indexCoding(coding: unknown, label: string | undefined, writer: IndexWriter): void {
  if (!isJsonObject(coding)) return;
  add(token(text(coding.system), text(coding.code), textsOf(coding, label)), writer);
}

function textsOf(coding: JsonObject, label: string | undefined): readonly string[] | undefined {
  const display = text(coding.display);
  if (display === undefined) return label === undefined ? undefined : [label];
  return label === undefined || label === display ? [display] : [display, label];
}

function indexIdentifier(identifier: unknown, writer: IndexWriter): void {
  add(identifierToken(identifier), writer);
  if (!isJsonObject(identifier) || !isJsonObject(identifier.type) || !Array.isArray(identifier.type.coding)) return;
  const value = text(identifier.value);
  if (value === undefined) return;
  for (const coding of identifier.type.coding as readonly unknown[]) {
    const code = isJsonObject(coding) ? text(coding.code) : undefined;
    if (code === undefined) continue;
    const system = text((coding as JsonObject).system);
    writer.addBeside(':of-type', token(system, typedCode(code, value), undefined)!);
  }
}

/** The code of an Identifier's type joined with its value, as searched by `:of-type`. */
export function typedCode(code: string, value: string): string {
  return `${code.replace(/[\\|]/g, '\\$&')}|${value}`;
}

function indexContactPoint(contact: unknown, writer: IndexWriter): void {
  if (isJsonObject(contact)) indexText(contact.value, writer);
}

function indexBoolean(value: unknown, writer: IndexWriter): void {
  if (typeof value === 'boolean') writer.add({ kind: 'token', code: value ? 'true' : 'false' });
}

function indexText(value: unknown, writer: IndexWriter): void {
  const code = text(value);
  if (code !== undefined) writer.add({ kind: 'token', code });
}

function indexString(value: unknown, writer: IndexWriter): void {
  const code = text(value);
  if (code !== undefined) writer.add({ kind: 'token', code: foldToken(code) });
}

function boundCodeIndexer(system: string): ValueIndexer {
  return (value, writer) => {
    const code = text(value);
    if (code === undefined) return;
    writer.add({ kind: 'token', code });
    writer.add({ kind: 'token', system, code });
  };
}

function add(value: TokenValue | undefined, writer: IndexWriter): void {
  if (value !== undefined) writer.add(value);
}

// PERF (import-rate): literal objects of four fixed shapes; this function creates most index values.
function token(
  system: string | undefined,
  code: string | undefined,
  texts: readonly string[] | undefined,
): TokenValue | undefined {
  if (code === undefined) {
    if (system === undefined) return texts === undefined ? undefined : { kind: 'token', texts };
    return texts === undefined ? { kind: 'token', system } : { kind: 'token', system, texts };
  }
  if (system === undefined) return texts === undefined ? { kind: 'token', code } : { kind: 'token', code, texts };
  return texts === undefined ? { kind: 'token', system, code } : { kind: 'token', system, code, texts };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
