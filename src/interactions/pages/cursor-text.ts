import type { Caller } from '../../access/caller.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject } from '../../fhir/resource.js';
import { textOfBase64Url, textToBase64Url } from '../../platform/base64url.js';
import { sha256Of } from '../../platform/sha256.js';
import type { SortKey } from '../../search/criteria/criteria.js';
import { localized } from '../../search/evaluate/localized.js';
import { createSubject } from '../../search/evaluate/search-subject.js';
import { positionOf, type SearchPosition } from '../../search/evaluate/sort.js';
import type { StoredResource } from '../../store/stored-resource.js';

/** Maximum length in characters, written or read: the cursor of a connection contains its search. */
export const MAX_CURSOR_LENGTH = 100_000;

/**
 * Writes a cursor: JSON in base64url, with a checksum that binds it to the caller and to the question that it continues.
 *
 * The checksum detects damaged, truncated and shared cursors. It is not a signature, and security does not depend on
 * it: a cursor only moves a page, which the sender's own rights decide.
 *
 * @param question what the cursor belongs to, if the content does not say it
 */
export function cursorText(content: readonly unknown[], caller: Caller, question?: string): string {
  const json = JSON.stringify(content);
  return `${textToBase64Url(json)}.${checksum(json, caller, question)}`;
}

/**
 * The content of a cursor; undefined if it is malformed, or belongs to another caller or question. Anyone who knows the
 * algorithm can compute a valid checksum, so the content is as untrusted as any argument.
 */
export function readCursor(text: string, caller: Caller, question?: string): unknown {
  const match = text.length > MAX_CURSOR_LENGTH ? null : /^([\w-]+)\.([\w-]+)$/.exec(text);
  if (match === null) return undefined;
  const json = textOfBase64Url(match[1]!);
  if (checksum(json, caller, question) !== match[2]) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The refusal of what {@link readCursor} does not know. */
export function damagedCursor(): FhirError {
  return new FhirError('invalid', 'The cursor is damaged, or was not made for this caller; begin again without one');
}

/** The refusal of a cursor in a link: it may be another link's. */
export function foreignCursor(): FhirError {
  const message =
    'The "_cursor" is damaged, or is not from a link of this search for this caller; begin again without it';
  return new FhirError('invalid', message);
}

function checksum(json: string, caller: Caller, question: string | undefined): string {
  const identity = caller.kind === 'member' ? caller.membership : '';
  const bound = [caller.kind, caller.project, identity, json, ...(question === undefined ? [] : [question])];
  return sha256Of(JSON.stringify(bound), 'base64url').slice(0, 22);
}

/**
 * The position of a match as visible to the caller: hidden sort values are absent, and the guard removes that sort key
 * and its value.
 *
 * @param baseUrl the service's own base, without a trailing slash
 */
export function positionAt(
  model: FhirModel,
  { resource }: Pick<StoredResource, 'resource'>,
  sort: readonly SortKey[] | undefined,
  baseUrl: string | undefined,
): SearchPosition {
  if (sort === undefined) return { values: [], id: resource.id! };
  const subject = localized(createSubject(model, resource, resource.meta?.lastUpdated ?? ''), baseUrl);
  const { values, id } = positionOf(subject, sort);
  return { values: values.map((value) => (Number.isNaN(value) ? null : value)), id };
}

/** The store checks whether its values fit the sort. */
export function isPosition(value: unknown): value is SearchPosition {
  return (
    isJsonObject(value) &&
    typeof value.id === 'string' &&
    Array.isArray(value.values) &&
    value.values.every((one: unknown) => one === null || typeof one === 'string' || typeof one === 'number')
  );
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isNullOr<Value>(is: (value: unknown) => value is Value, value: unknown): value is Value | null {
  return value === null || is(value);
}
