import type { Run } from './run.js';

/** Makes a store call under the limits. */
export async function call<Result>(run: Run, work: () => Promise<Result>): Promise<Result> {
  run.spendCall();
  try {
    const result = await work();
    run.deadline.check();
    return result;
  } catch (error) {
    throw run.deadline.faultOf(error);
  }
}
