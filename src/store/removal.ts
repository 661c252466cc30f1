import type { CallOptions } from './call-options.js';

/**
 * What a store removes so that it cannot be restored. Each step is one transaction of bounded size that other calls do not
 * wait long for; callers repeat it until nothing is left, and resume it after a crash by calling it again.
 */
export interface StoreRemoval {
  /** Removes versions that are not current. Current versions, deletions included, always stay. */
  purgeHistory(request: PurgeRequest, options?: CallOptions): Promise<PurgeStep>;

  /**
   * Removes resources of a project with all their versions, index values and unique texts, without tombstones, and at the
   * end everything else that the store keeps of the project. The project is then as if it had never been written to.
   */
  removeProject(project: string, options?: CallOptions): Promise<RemovalStep>;

  /**
   * Overwrites what removed data left where only the store looks: free pages, logs, names without resources. Takes as long as
   * copying the store, and may hold up writes until it is done.
   *
   * @throws FhirError `unavailable` - another connection holds on to an old state; try again
   */
  scrub(options?: CallOptions): Promise<void>;
}

/** The versions to remove from the history of a project. */
export interface PurgeRequest {
  readonly project: string;
  /** Only versions that were replaced before this instant. ISO 8601, UTC. */
  readonly replacedBefore: string;
  /** How many of the newest versions of each resource stay, the current one included. From 1 up. */
  readonly keep: number;
  /** Only versions of resources of this type. Default: of all types. */
  readonly type?: string | undefined;
  /** `next` of the step before. Default: from the beginning. */
  readonly after?: string | undefined;
}

/** What a step of purging did. */
export interface PurgeStep {
  /** The number of versions removed. */
  readonly versions: number;
  /** Where the next step begins; undefined: all is done. */
  readonly next?: string | undefined;
}

/** What a step of removing a project did. */
export interface RemovalStep {
  /** The number of resources removed; of deleted and erased ones too. */
  readonly resources: number;
  /** The number of versions removed. */
  readonly versions: number;
  /** Nothing is left. */
  readonly done: boolean;
}
