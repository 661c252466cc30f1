/** Work that is under way is shared by those who ask for it under the same key. A failure is not kept. */
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
