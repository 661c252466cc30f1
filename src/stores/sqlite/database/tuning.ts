/** The limits at which work leaves the event loop. Only tests change them, to see that threads answer the same. */
export const THREAD_TUNING = {
  /** Milliseconds that a call may hold the event loop before a thread takes over. Negative: it never begins there. */
  inlineMs: 20,
  /** A commit with at least this many writes runs in a thread. */
  largeCommit: 24,
  /**
   * A thread extracts the index entries of a resource with more values than this, where long texts count as several, and
   * writes it; each value takes 2 µs.
   */
  largeResource: 2_500,
  /** Resources that are read and parsed, or writes that are sent, between two checks of the turn. */
  slice: 64,
  /** Characters and numbers that are prepared of a commit that waits for the thread. */
  ahead: 4_000_000,
  /** Maximum pages of a file that is verified and rebuilt in the event loop: about 200 resources. */
  smallFile: 256,
  /** How long a thread may take to end a call after its deadline or abort before it is abandoned, in milliseconds. */
  graceMs: 25,
  /** Time before threads that could not start are tried again, in milliseconds; it doubles with each failure. */
  retryMs: 100,
};
