import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition holds. Only the timeout of the test, which is long, ends a wait in vain. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(5);
}
