/** How a {@link MemoryStore} behaves. */
export interface MemoryStoreOptions {
  /** What time it is, for `meta.lastUpdated`. Default: the system's clock. */
  readonly clock?: (() => Date) | undefined;
}
