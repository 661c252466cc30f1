import type { IndexedVersion } from '../access/read/version-view.js';
import { referenceTo } from '../fhir/reference.js';
import { pushTo } from '../platform/collections.js';
import { createSubject } from '../search/evaluate/search-subject.js';
import type { CommittedChange } from '../store/changes.js';
import type { ResourceKey } from '../store/resource-key.js';
import type { ResourceStore } from '../store/store.js';
import type { ReadResult } from '../store/stored-resource.js';

/**
 * A resource that a page of changes names. Null: it did not exist, or was deleted.
 *
 * ```text
 *                │ page: v3 v4 │
 * v1 ─── v2 ─────┤             ├──── v5
 *        past[0]   past[1] [2]       now
 * ```
 */
export interface ChangedResource {
  readonly type: string;
  readonly id: string;
  /** The version before the page, and those of the page: what a reader may know. The current one is left out. */
  readonly past: readonly (IndexedVersion | null)[];
  /** The current version, which may be newer than the page. */
  readonly now: IndexedVersion | null;
}

/** A page of the feed, with the resources that it names. */
export interface LivePage {
  readonly from: string;
  readonly position: string;
  /** The feed does not know the position. */
  readonly isReset: boolean;
  readonly resources: readonly ChangedResource[];
  /** Types of which a version that a reader may know was removed: nobody can tell what readers know. */
  readonly lost: ReadonlySet<string>;
}

/** Changes of a page, unless a commit has more. */
export const PAGE_SIZE = 200;

/** The latest pages of a feed, each read once for all that are at its beginning. */
export class RecentPages<Page extends { readonly position: string }> {
  readonly #pages = new Map<string, Promise<Page>>();

  /**
   * @param from the position after which the page begins
   * @param key what else the page depends on
   */
  page(from: string, key: string, read: () => Promise<Page>): Promise<Page> {
    const name = `${from} ${key}`;
    const known = this.#pages.get(name);
    if (known !== undefined) return known;
    const page = read();
    this.#pages.set(name, page);
    // What follows the last page is not known for long.
    const forget = (): void => void this.#pages.delete(name);
    page.then(({ position }) => (position === from ? forget() : undefined), forget);
    for (const [oldest] of this.#pages) if (this.#pages.size > RECENT_PAGES) this.#pages.delete(oldest);
    return page;
  }
}

/** Pages that are kept for readers that are a little behind. */
const RECENT_PAGES = 8;

/** Reads the page after a position. */
export async function readLivePage(
  store: ResourceStore,
  project: string,
  from: string,
  types: readonly string[],
): Promise<LivePage> {
  const { changes, position, isReset } = await store.changes!({ project, after: from, types, limit: PAGE_SIZE });
  const byResource = new Map<string, CommittedChange[]>();
  for (const change of changes) pushTo(byResource, referenceTo(change.key.type, change.key.id), change);
  const asked = [...byResource.values()].map(versionsOf);
  const nows = await readVersions(
    store,
    asked.map(({ key }) => key),
  );
  const pasts = asked.flatMap(({ key, past }, index) =>
    // The last version of a page is almost always the current one.
    past.flatMap((version): ResourceKey[] =>
      version === null || version === nows[index]?.versionId ? [] : [{ ...key, version }],
    ),
  );
  const lost = new Set<string>();
  const versions = (await readVersions(store, pasts, lost)).values();
  const resources = asked.map(({ key: { type, id }, past }, index): ChangedResource => {
    const now = nows[index]!;
    const others = past.filter((version) => version === null || version !== now?.versionId);
    return { type, id, past: others.map((version) => (version === null ? null : versions.next().value!)), now };
  });
  return { from, position, isReset, resources, lost };
}

/**
 * The versions that a reader may know. Nobody knew a resource before its first version. Where there are others, it may
 * know any of them: an earlier page may have shown it the version that was current then.
 */
function versionsOf(changes: readonly CommittedChange[]): {
  readonly key: ResourceKey;
  readonly past: readonly (string | null)[];
} {
  const [{ before, key }] = changes as readonly [CommittedChange, ...CommittedChange[]];
  const others = before === null ? [] : changes.map(({ kind, versionId }) => (kind === 'put' ? versionId : null));
  return { key, past: [before, ...others] };
}

/**
 * Versions with their index values. Null: there is no content.
 *
 * @param lost gets the types of versions that are not there any more
 */
export async function readVersions(
  store: ResourceStore,
  keys: readonly ResourceKey[],
  lost?: Set<string>,
): Promise<readonly (IndexedVersion | null)[]> {
  const found = keys.length === 0 ? [] : await store.read(keys);
  return found.map((one, index) => {
    if (one.status === 'missing') lost?.add(keys[index]!.type);
    return indexed(store, one);
  });
}

function indexed({ model }: ResourceStore, read: ReadResult): IndexedVersion | null {
  if (read.status !== 'found') return null;
  const { versionId, resource, lastUpdated } = read;
  return { versionId, resource, subject: createSubject(model, resource, lastUpdated) };
}
