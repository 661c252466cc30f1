import type { Run } from './run.js';

/**
 * Projects items into a list. A long list is filled in slices, and other work runs between them.
 *
 * @returns undefined if the list is complete
 */
export function fillList<Item>(
  list: unknown[],
  items: readonly Item[],
  project: (item: Item) => unknown,
  run: Run,
): Promise<void> | undefined {
  // PERF: nearly all lists are short, and need no promise.
  if (items.length > LONG) return fillInTurns(list, items, project, run);
  for (const item of items) list.push(project(item));
  return undefined;
}

async function fillInTurns<Item>(
  list: unknown[],
  items: readonly Item[],
  project: (item: Item) => unknown,
  run: Run,
): Promise<void> {
  for (const item of items) {
    if (run.isLookDue && run.pace.isSpent) await run.pace.next();
    list.push(project(item));
  }
}

/** In items. */
export const LONG = 64;
