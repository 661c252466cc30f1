import { parse, print, visit, type DocumentNode, type FieldNode } from 'graphql';

/** How the rows of unsorted lists are compared; see the corpus's own README. */
export type Order = 'exact' | 'multiset' | 'subset';

/** Elements that each store sets itself. */
const STAMPS: ReadonlySet<string> = new Set(['versionId', 'lastUpdated']);

/**
 * @returns the path at which two answers differ, undefined if they are equal. Key order is free; `meta.versionId` and
 * `meta.lastUpdated` can be any string.
 */
export function difference(
  expected: unknown,
  actual: unknown,
  unordered: ReadonlySet<string>,
  path = 'data',
): string | undefined {
  const key = path.split('.').at(-1)!.replace(/\[.*/, '');
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${path}: expected a list, got ${JSON.stringify(actual)}`;
    if (actual.length !== expected.length) return `${path}: expected ${expected.length} items, got ${actual.length}`;
    const rows = unordered.has(key) ? sameOrder(expected, actual) : actual;
    for (const [index, item] of expected.entries()) {
      const found = difference(item, rows[index], unordered, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null)
      return `${path}: expected an object, got ${JSON.stringify(actual)}`;
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    for (const name of keys) {
      if (key === 'meta' && STAMPS.has(name)) {
        if (typeof (actual as Record<string, unknown>)[name] === 'string') continue;
        return `${path}.${name}: expected a string`;
      }
      if (!Object.hasOwn(expected, name)) return `${path}.${name}: not expected`;
      if (!Object.hasOwn(actual, name)) return `${path}.${name}: missing`;
      const found = difference(
        (expected as Record<string, unknown>)[name],
        (actual as Record<string, unknown>)[name],
        unordered,
        `${path}.${name}`,
      );
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return Object.is(expected, actual)
    ? undefined
    : `${path}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
}

/** Response keys of search lists without `_sort`; for connections, their `edges`. */
export function unorderedKeys(query: string): ReadonlySet<string> {
  const keys = new Set<string>();
  visit(parse(query), {
    Field(node) {
      if (!isUnsortedSearch(node)) return;
      keys.add(node.alias?.value ?? node.name.value);
      if (node.name.value.endsWith('Connection')) keys.add('edges');
    },
  });
  return keys;
}

/** The query with the pages of unsorted searches opened: all their matches. */
export function withoutPages(query: string): string {
  const opened: DocumentNode = visit(parse(query), {
    Field(node) {
      if (!isUnsortedSearch(node)) return undefined;
      return { ...node, arguments: node.arguments?.filter(({ name }) => !['_count', '_offset'].includes(name.value)) };
    },
  });
  return print(opened);
}

/**
 * Checks pages of unsorted searches: as long as expected, every row a different one of all the matches.
 * Everything outside those lists is equal.
 */
export function subsetDifference(
  expected: unknown,
  actual: unknown,
  all: unknown,
  unordered: ReadonlySet<string>,
  path = 'data',
): string | undefined {
  const key = path.split('.').at(-1)!.replace(/\[.*/, '');
  if (Array.isArray(expected) && unordered.has(key)) {
    if (!Array.isArray(actual) || !Array.isArray(all)) return `${path}: expected a list`;
    if (actual.length !== expected.length) return `${path}: expected ${expected.length} rows, got ${actual.length}`;
    if (actual.length === all.length) return difference(expected, actual, unordered, path);
    const left = all.map(stable);
    for (const row of actual) {
      const at = left.indexOf(stable(row));
      if (at < 0) return `${path}: a row is not among the matches, or stands twice: ${stable(row)}`;
      left.splice(at, 1);
    }
    return undefined;
  }
  if (typeof expected === 'object' && expected !== null && !Array.isArray(expected)) {
    const read = (value: unknown, name: string): unknown =>
      (value as Record<string, unknown> | null | undefined)?.[name];
    for (const name of new Set([...Object.keys(expected), ...Object.keys(actual ?? {})])) {
      const found = subsetDifference(
        read(expected, name),
        read(actual, name),
        read(all, name),
        unordered,
        `${path}.${name}`,
      );
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return difference(expected, actual, unordered, path);
}

function isUnsortedSearch(node: FieldNode): boolean {
  const isSearch = /[a-z](List|Connection)$/.test(node.name.value) && node.name.value !== 'List';
  return isSearch && node.arguments?.some(({ name }) => name.value === '_sort') !== true;
}

function sameOrder(expected: readonly unknown[], actual: readonly unknown[]): unknown[] {
  const left = [...actual];
  return expected.map((item) => {
    const text = stable(item);
    const at = left.findIndex((candidate) => stable(candidate) === text);
    return left.splice(Math.max(at, 0), 1)[0];
  });
}

/** JSON with sorted keys and sorted rows, for comparing as a set. */
function stable(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stable).sort().join()}]`;
  if (typeof value === 'object' && value !== null) {
    const parts = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${stable(inner)}`);
    return `{${parts.sort().join()}}`;
  }
  return JSON.stringify(value) ?? 'undefined';
}
