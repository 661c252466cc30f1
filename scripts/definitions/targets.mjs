/** Lists of allowed resource types, each stored once and named by its number. */
export function createTargetLists() {
  const numbers = new Map();
  const lists = [];
  return {
    lists,
    /** The number of a list; undefined where any type is allowed. */
    number(types) {
      if (types === undefined) return undefined;
      const sorted = [...new Set(types)].sort();
      const key = sorted.join();
      if (!numbers.has(key)) numbers.set(key, lists.push(sorted) - 1);
      return numbers.get(key);
    },
  };
}
