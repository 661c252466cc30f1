import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition is true. Only the timeout of the test, which is long, ends the wait. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(5);
}
