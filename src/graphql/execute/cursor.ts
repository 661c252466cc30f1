import type { Caller } from '../../access/caller.js';
import { FhirError } from '../../fhir/error.js';
import { isResourceId, isJsonObject } from '../../fhir/resource.js';
import type { SearchPosition } from '../../search/evaluate/sort.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { PageWindow } from './page-window.js';
import type { SearchArguments } from './search-arguments.js';
import { textOfBase64Url, textToBase64Url } from '../../platform/base64url.js';
import { sha256Of } from '../../platform/sha256.js';

/** The page of a search that a cursor represents. */
export interface Cursor {
  readonly type: string;
  /** The whole search. */
  readonly search: SearchArguments;
  /** The target of a reverse connection; undefined at the root. */
  readonly target: ReferenceTarget | undefined;
  /** The start or end of the page; its size is part of the search. */
  readonly bounds: Omit<PageWindow, 'count'>;
}

/** Maximum length in characters, written or read: a search may be long, and its cursor contains it. */
const MAX_CURSOR_LENGTH = 100_000;
/** Increases when the meaning of the content changes. */
const VERSION = 1;

/**
 * Writes a cursor: the search and the position as JSON in base64url, with a checksum that binds both to the caller.
 *
 * The checksum detects damaged, truncated and shared cursors. It is not a signature, and security does not depend on
 * it: the search runs with the rights of the sender, as if written out in the query.
 *
 * @throws FhirError `too-costly` - the search, or a sort value, is too long
 */
export function encodeCursor({ type, search, target, bounds }: Cursor, caller: Caller): string {
  const { after, before, offset } = bounds;
  const content = JSON.stringify([VERSION, type, search, target ?? null, after ?? null, before ?? null, offset]);
  const text = `${textToBase64Url(content)}.${check(content, caller)}`;
  if (text.length <= MAX_CURSOR_LENGTH) return text;
  const message = `A cursor to this page would have ${text.length} characters, at most ${MAX_CURSOR_LENGTH} are allowed`;
  throw new FhirError('too-costly', `${message}: shorten the search, or page with _offset`, {
    details: { max: MAX_CURSOR_LENGTH, value: text.length },
  });
}

/**
 * Reads a cursor.
 *
 * @throws FhirError `invalid` - malformed, modified, or of another connection or caller
 */
export function decodeCursor(text: string, type: string, caller: Caller): Cursor {
  const cursor = parse(text, caller);
  if (cursor === undefined) {
    throw new FhirError('invalid', 'The cursor is damaged, or was not made for this caller; begin again without one');
  }
  if (cursor.type !== type) {
    throw new FhirError('invalid', `The cursor belongs to ${cursor.type}Connection, not to ${type}Connection`);
  }
  return cursor;
}

function parse(text: string, caller: Caller): Cursor | undefined {
  const match = text.length > MAX_CURSOR_LENGTH ? null : /^([\w-]+)\.([\w-]+)$/.exec(text);
  if (match === null) return undefined;
  const content = textOfBase64Url(match[1]!);
  if (check(content, caller) !== match[2]) return undefined;
  // Anyone who knows the algorithm can compute a valid checksum, so the content is as untrusted as any argument.
  return cursorOf(parseJson(content));
}

function check(content: string, caller: Caller): string {
  const identity = caller.kind === 'member' ? caller.membership : '';
  const bound = JSON.stringify([caller.kind, caller.project, identity, content]);
  return sha256Of(bound, 'base64url').slice(0, 22);
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

function cursorOf(content: unknown): Cursor | undefined {
  if (!Array.isArray(content) || content.length !== 7 || content[0] !== VERSION) return undefined;
  const [, type, search, target, after, before, offset] = content as unknown[];
  if (typeof type !== 'string' || !isSearch(search)) return undefined;
  if (!isNullOr(isTarget, target) || !isNullOr(isPosition, after) || !isNullOr(isPosition, before)) return undefined;
  if (!isNullOr(isCount, offset) || (search.reference === undefined) !== (target === null)) return undefined;
  return {
    type,
    search,
    target: target ?? undefined,
    bounds: { after: after ?? undefined, before: before ?? undefined, offset },
  };
}

function isSearch(value: unknown): value is SearchArguments {
  if (!isJsonObject(value)) return false;
  const { parameters, filters, sort, count, fhirpath, reference, offset } = value;
  return (
    Array.isArray(parameters) &&
    parameters.every((pair: unknown) => Array.isArray(pair) && typeof pair[0] === 'string' && isTexts(pair[1])) &&
    (filters === undefined || isTexts(filters)) &&
    (sort === undefined || isTexts(sort)) &&
    isCount(count) &&
    (offset === undefined || isCount(offset)) &&
    (fhirpath === undefined || typeof fhirpath === 'string') &&
    (reference === undefined || typeof reference === 'string')
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTarget(value: unknown): value is ReferenceTarget {
  return (
    isJsonObject(value) && typeof value.type === 'string' && typeof value.id === 'string' && isResourceId(value.id)
  );
}

/** The store checks whether its values fit the sort. */
function isPosition(value: unknown): value is SearchPosition {
  return (
    isJsonObject(value) &&
    typeof value.id === 'string' &&
    Array.isArray(value.values) &&
    value.values.every((one: unknown) => one === null || typeof one === 'string' || typeof one === 'number')
  );
}

function isNullOr<Value>(is: (value: unknown) => value is Value, value: unknown): value is Value | null {
  return value === null || is(value);
}
