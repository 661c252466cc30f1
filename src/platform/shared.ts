/** Concurrent calls with the same key share one run of the work. A failure is not cached. */
export function shared<Result>(
  running: Map<string, Promise<Result>>,
  key: string,
  work: () => Promise<Result>,
): Promise<Result> {
  let result = running.get(key);
  if (result === undefined) {
    result = work().finally(() => running.delete(key));
    running.set(key, result);
  }
  return result;
}
