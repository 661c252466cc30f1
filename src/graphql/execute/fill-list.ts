import type { Run } from './run.js';

/** Projects the items of a list. Other work runs between the items of a long one. */
export async function projectItems<Item, Projected>(
  items: readonly Item[],
  project: (item: Item) => Projected,
  run: Run,
): Promise<Projected[]> {
  const list: Projected[] = [];
  for (const item of items) {
    if (run.isLookDue && run.pace.isSpent) await run.pace.next();
    list.push(project(item));
  }
  return list;
}
