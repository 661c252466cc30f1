/** The scope of resources above projects: Users and the Projects themselves. */
export const SERVER_SCOPE = '';

/** The project, type and id of a resource. */
export interface ResourceKey {
  /** The id of a Project, {@link SERVER_SCOPE}, or an internal scope, which begins with a slash. */
  readonly project: string;
  readonly type: string;
  readonly id: string;
  /** One version instead of the current one. Only used by `read`. */
  readonly version?: string | undefined;
  /** The elements that are needed. Only used by `read`; see {@link SearchQuery.elements}. */
  readonly elements?: readonly string[] | undefined;
}

/** The target of a reverse search. */
export interface ReferenceTarget {
  readonly type: string;
  readonly id: string;
}
