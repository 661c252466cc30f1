import { hasResourcesInside, type VersionView } from '../access/read/version-view.js';
import { keepDecimalTexts } from '../fhir/json/decimal-texts.js';
import { type AnyResource, elementsOf, isJsonObject, type JsonObject } from '../fhir/resource.js';
import type { ChangedResource } from './changed-resources.js';

/** What happened to the matches of a search, as one caller sees them. */
type LiveEventKind = 'enter' | 'update' | 'leave';

/** A change of the matches of a search. */
export interface LiveEvent {
  readonly event: LiveEventKind;
  readonly id: string;
  /** The current version as the caller sees it; undefined for `leave`. */
  readonly resource: AnyResource | undefined;
  /** The same version as it is stored, for audit records. */
  readonly stored: AnyResource | undefined;
}

/** What a subscription follows. */
export interface Followed {
  readonly view: VersionView;
  /** Whether a reader who knows one version learns anything from the other. */
  differs(known: AnyResource, current: AnyResource): boolean;
}

/**
 * The event for those who follow a view.
 *
 * | what a reader may know → now | event |
 * |---|---|
 * | no match → match | `enter` |
 * | match → match, and it differs | `update` |
 * | match → match | none |
 * | match → no match | `leave` |
 */
export function liveEvent({ view, differs }: Followed, { id, past, now }: ChangedResource): LiveEvent | undefined {
  const known = past.map((version) => (version === null ? undefined : view.show(version)));
  const resource = now === null ? undefined : view.show(now);
  if (resource === undefined) {
    return known.some((one) => one !== undefined) ? { event: 'leave', id, resource, stored: undefined } : undefined;
  }
  const isKnown = known.every((one) => one !== undefined && (one === resource || !differs(one, resource)));
  if (isKnown) return undefined;
  return { event: known[0] === undefined ? 'enter' : 'update', id, resource, stored: now!.resource };
}

/** Whether equal views may see the resource differently: it has resources inside it. */
export function isSeenApart({ past, now }: ChangedResource): boolean {
  return [...past, now].some((version) => version !== null && hasResourcesInside(version.resource));
}

/** A resource without what each write changes: a difference of the version's id and time alone does not count. */
export function withoutVersion(resource: AnyResource): JsonObject {
  const elements = elementsOf(resource);
  const { meta } = elements;
  if (!isJsonObject(meta)) return elements;
  const { versionId: _, lastUpdated: __, ...kept } = meta;
  const { meta: ___, ...others } = elements;
  return keepDecimalTexts(elements, Object.keys(kept).length === 0 ? others : { ...others, meta: kept });
}
