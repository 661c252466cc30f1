// Modules that several test files import are evaluated once per worker, so a hook that such a module registers would belong
// only to the first of these files. They register their tasks here; setup.ts, which runs for every file, has the hooks.
type Task = () => unknown;

const afterTest: Task[] = [];
const afterFile: Task[] = [];

/** Runs a task after the current test, or after the first test of the file. */
export function onceTestEnds(task: Task): void {
  afterTest.push(task);
}

/** Runs a task after the last test of the current file. */
export function onceFileEnds(task: Task): void {
  afterFile.push(task);
}

export async function endTest(): Promise<void> {
  for (const task of afterTest.splice(0)) await task();
}

export async function endFile(): Promise<void> {
  for (const task of afterFile.splice(0)) await task();
}
