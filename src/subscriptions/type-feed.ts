import type { IndexedVersion } from '../access/read/version-view.js';
import { referenceTo } from '../fhir/reference.js';
import type { CommittedChange } from '../store/changes.js';
import type { ResourceKey } from '../store/resource-key.js';
import type { ResourceStore } from '../store/store.js';
import { PAGE_SIZE, readVersions, RecentPages } from '../live/changed-resources.js';

/** A change with the versions before and after it. Null: the version does not exist, or was removed. */
export interface VersionChange extends CommittedChange {
  /** `Observation/o1/_history/3`. */
  readonly name: string;
  readonly versions: readonly [before: IndexedVersion | null, after: IndexedVersion | null];
}

/** A page of the feed of a type: each change of a resource by itself. */
export interface TypePage {
  readonly changes: readonly VersionChange[];
  readonly position: string;
  readonly isReset: boolean;
  /** When its reading began. */
  readonly begun: number;
  /** The epoch of access after the page was read. */
  readonly epoch: string | undefined;
}

/** The feed of a type in a project. All that read after one position read its page once. */
export class TypeFeed {
  readonly #pages = new RecentPages<TypePage>();
  readonly #stop: (() => void) | undefined;
  #news = Promise.withResolvers<undefined>();

  constructor(
    private readonly store: ResourceStore,
    private readonly project: string,
    private readonly type: string,
  ) {
    this.#stop = store.watch?.(project, () => this.tell());
  }

  close(): void {
    this.#stop?.();
  }

  /** There may be another page. */
  tell(): void {
    this.#news.resolve(undefined);
    this.#news = Promise.withResolvers();
  }

  /** Resolves with the next news. Taken before a page is read, so that no news is missed. */
  get news(): Promise<undefined> {
    return this.#news.promise;
  }

  async now(): Promise<string> {
    return (await this.store.changes!({ project: this.project })).position;
  }

  page(after: string): Promise<TypePage> {
    return this.#pages.page(after, this.type, () => this.#read(after));
  }

  async #read(after: string): Promise<TypePage> {
    const { project, type } = this;
    const begun = performance.now();
    const { changes, position, isReset } = await this.store.changes!({
      project,
      after,
      types: [type],
      limit: PAGE_SIZE,
    });
    const keys = new Map<string, ResourceKey>();
    for (const { kind, key, before, versionId } of changes) {
      for (const version of [before, kind === 'put' ? versionId : null]) {
        if (version !== null) keys.set(referenceTo(key.type, key.id, version), { ...key, version });
      }
    }
    const found = await readVersions(this.store, [...keys.values()]);
    const versions = new Map([...keys.keys()].map((name, index) => [name, found[index]!]));
    const epoch = await this.store.accessEpoch?.();
    return {
      changes: changes.map((change): VersionChange => {
        const { key, before, versionId } = change;
        const name = referenceTo(key.type, key.id, versionId);
        const first = before === null ? null : versions.get(referenceTo(key.type, key.id, before))!;
        return { ...change, name, versions: [first, versions.get(name) ?? null] };
      }),
      position,
      isReset,
      begun,
      epoch,
    };
  }
}
