import type { Caller } from '../../access/caller.js';
import { FhirError } from '../../fhir/error.js';
import { isResourceId, isJsonObject } from '../../fhir/resource.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import {
  cursorText,
  damagedCursor,
  isCount,
  isNullOr,
  isPosition,
  MAX_CURSOR_LENGTH,
  readCursor,
} from '../../interactions/pages/cursor-text.js';
import type { PageWindow } from '../../interactions/pages/page-window.js';
import type { SearchArguments } from './search-arguments.js';

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

/** Increases when the meaning of the content changes. */
const VERSION = 1;

/**
 * Writes a cursor: the search and the position. The search runs with the rights of the sender, as if written out in the
 * query.
 *
 * @throws FhirError `too-costly` - the search, or a sort value, is too long
 */
export function encodeCursor({ type, search, target, bounds }: Cursor, caller: Caller): string {
  const { after, before, offset } = bounds;
  const content = [VERSION, type, search, target ?? null, after ?? null, before ?? null, offset];
  const text = cursorText(content, caller);
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
  const cursor = cursorOf(readCursor(text, caller));
  if (cursor === undefined) throw damagedCursor();
  if (cursor.type !== type) {
    throw new FhirError('invalid', `The cursor belongs to ${cursor.type}Connection, not to ${type}Connection`);
  }
  return cursor;
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

function isTarget(value: unknown): value is ReferenceTarget {
  return (
    isJsonObject(value) && typeof value.type === 'string' && typeof value.id === 'string' && isResourceId(value.id)
  );
}
