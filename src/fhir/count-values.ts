/**
 * The number of values inside an object or a list, each level included.
 *
 * @param most where to stop counting; the result is larger then. Default: counts all.
 */
export function countValues(root: object, most = Infinity): number {
  let count = 0;
  const pending: object[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    // PERF: lists of values make no copy, and nearly all resources are small.
    for (const key in next) {
      const value = (next as Record<string, unknown>)[key];
      count += 1;
      if (isJson(value)) pending.push(value);
    }
    if (count > most) return count;
  }
  return count;
}

/** Objects of libraries, such as those of fhirpath.js, can lead anywhere. */
function isJson(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
