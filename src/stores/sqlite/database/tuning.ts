/** When work leaves the event loop. Only tests change it, to see that threads answer the same. */
export const THREAD_TUNING = {
  /** How long a call may hold the event loop before a thread takes it over, in milliseconds. Negative: it never begins there. */
  inlineMs: 20,
  /** From so many writes on a commit is a thread's. */
  largeCommit: 24,
  /** Values of a resource above which a thread finds its index entries; each takes 2 µs. */
  largeResource: 2_500,
  /** Characters of a text that count as a value more: of 160,000, a thread makes the resource's entries, and writes it. */
  perText: 64,
  /** Resources that are read and parsed, or writes that are sent, before the turn is looked at. */
  slice: 64,
  /** Writes that are sent first, so that the thread begins soon. */
  firstSlice: 16,
  /** Characters and numbers that are made ready of a commit that waits for the thread. */
  ahead: 4_000_000,
  /** Pages of a file that is verified and rebuilt in the event loop: about 200 resources. */
  smallFile: 256,
  /** Pages written to the log, as estimated, after which a thread carries them to the database. */
  checkpointPages: 8_000,
  /** How long a thread may take to end a call after its deadline or abortion before it is given up, in milliseconds. */
  graceMs: 25,
};
