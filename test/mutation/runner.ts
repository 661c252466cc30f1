import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type RunnerTestCase, TestRunner } from 'vitest';

type Test = RunnerTestCase;
type Suite = Parameters<typeof TestRunner.getSuiteHooks>[0];

/** How the switches of StrykerJS find the active mutant, and what they record about the mutants that they passed. */
interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  /** How often the active mutant was passed. Beyond the limit its switch throws, which ends endless loops. */
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { readonly static: Hits; readonly perTest: { [test: string]: Hits } };
}
type Hits = Readonly<Record<string, number>>;

interface State {
  /** By mutant, the test that found it. */
  readonly killed: Record<string, string>;
  /** By mutant, the test files that run it. */
  readonly covered: Record<string, string[]>;
  /** Mutants that run while modules are loaded: no test can switch them. */
  atLoad: string[];
  /** The mutants that each test passes. */
  readonly passed: Record<string, 1>;
  /** The mutant that made a test fail that also failed without it. */
  suspect?: string | undefined;
  /** Whether the process ended itself, and the run must continue in another process. */
  restart?: boolean;
}

/** No mutant is active. `undefined` would mean that the environment names a mutant. */
const NONE = '-';
const TEST = 'test';
/** Milliseconds between two writes of the state. */
const KEPT_EVERY = 5_000;

const switches = ((globalThis as { __stryker__?: Switches }).__stryker__ ??= {});
/** The mutant that is active from the start of this process. */
const ALONE = process.env['FHIRGRAPH_MUTANT'];
switches.activeMutant = ALONE ?? NONE;
const coverage = (switches.mutantCoverage ??= { static: {}, perTest: {} });

/**
 * Runs each test without a mutant, and then again for each mutant that it passes and that no test has found yet. All
 * of that happens in one process, because loading the library takes longer than most tests.
 *
 * A mutant can leave effects, such as a cached result. So if a test fails, it runs again without the
 * mutant. If it fails then, too, another process continues.
 */
export default class MutationRunner extends TestRunner {
  async runTask(test: Test): Promise<void> {
    if (ALONE !== undefined) return runAlone(test, ALONE);
    switches.currentTestId = TEST;
    coverage.perTest[TEST] = {};
    const began = performance.now();
    try {
      await TestRunner.getTestFn(test)();
    } finally {
      await finish(test);
    }
    const duration = performance.now() - began;
    switches.currentTestId = undefined;
    await new Trials(test, coverage.perTest[TEST], 5_000 + 20 * duration).run();
  }

  override onAfterRunFiles(): void {
    super.onAfterRunFiles();
    if (ALONE === undefined) keep();
  }
}

const file = process.env['FHIRGRAPH_MUTATION_STATE'] ?? '';
const state: State = existsSync(file)
  ? (JSON.parse(readFileSync(file, 'utf8')) as State)
  : { killed: {}, covered: {}, atLoad: [], passed: {} };
const wanted = new Set(
  ALONE === undefined ? (JSON.parse(readFileSync(process.env['FHIRGRAPH_MUTATION_WANTED']!, 'utf8')) as string[]) : [],
);

/** The previous process was ended because of a mutant that hung. */
function noteHanging(): void {
  if (!existsSync(`${file}.now`)) return;
  const text = readFileSync(`${file}.now`, 'utf8');
  // Empty if the process was ended while it wrote: the mutant is tried again.
  const trial = text === '' ? null : (JSON.parse(text) as readonly [string, string] | null);
  if (trial !== null) {
    state.killed[trial[0]] = `hangs: ${trial[1]}`;
    keep();
  }
  writeFileSync(`${file}.now`, 'null');
}

/** The file shows how long the test has taken, for the process that ends this one. */
async function runAlone(test: Test, mutant: string): Promise<void> {
  writeFileSync(`${file}.now`, JSON.stringify([mutant, test.name]));
  await TestRunner.getTestFn(test)();
  writeFileSync(`${file}.now`, 'null');
}

let kept = Date.now();
/** The state grows to megabytes, so that writing it takes longer than most tests. */
function keepAtTimes(): void {
  if (Date.now() - kept > KEPT_EVERY) keep();
}

function keep(): void {
  state.atLoad = [...new Set([...state.atLoad, ...Object.keys(coverage.static)])];
  // The process can be ended at any time, and its results must stay readable.
  writeFileSync(`${file}.new`, JSON.stringify(state));
  renameSync(`${file}.new`, file);
  kept = Date.now();
}
noteHanging();

/** Runs one test for each mutant that it passes. */
class Trials {
  readonly #name: string;

  constructor(
    private readonly test: Test,
    private readonly hits: Hits,
    private readonly milliseconds: number,
  ) {
    this.#name = `${test.file.name}: ${test.name}`;
  }

  async run(): Promise<void> {
    const ids = Object.keys(this.hits).filter((id) => wanted.has(id));
    for (const id of ids) {
      const files = (state.covered[id] ??= []);
      if (!files.includes(this.test.file.name)) files.push(this.test.file.name);
    }
    const open = ids.filter((id) => state.killed[id] === undefined && state.passed[this.#key(id)] === undefined);
    // A test that cannot be repeated shows nothing.
    if (open.length > 0 && (await this.#passes(NONE))) for (const id of open) await this.#try(id);
    keepAtTimes();
  }

  async #try(id: string): Promise<void> {
    writeFileSync(`${file}.now`, JSON.stringify([id, this.#name]));
    const passed = await this.#passes(id);
    writeFileSync(`${file}.now`, 'null');
    if (passed) state.passed[this.#key(id)] = 1;
    else if ((await this.#passes(NONE)) || state.suspect === id) state.killed[id] = this.#name;
    else {
      // This mutant has left effects, or an earlier one: a fresh process decides.
      state.suspect = id;
      state.restart = true;
      keep();
      process.exit(1);
    }
    if (state.suspect === id) state.suspect = undefined;
    keepAtTimes();
  }

  #key(id: string): string {
    return `${id} ${this.test.id}`;
  }

  async #passes(id: string): Promise<boolean> {
    switches.activeMutant = id;
    switches.hitCount = id === NONE ? undefined : 0;
    switches.hitLimit = 100 * (this.hits[id] ?? 0) + 1_000;
    try {
      await within(this.milliseconds, this.#once());
      return true;
    } catch {
      return false;
    } finally {
      switches.activeMutant = NONE;
      switches.hitCount = undefined;
    }
  }

  /** The test with its hooks. */
  async #once(): Promise<void> {
    const { test } = this;
    const suites: Suite[] = [test.file];
    for (let suite = test.suite; suite !== undefined && suite !== test.file; suite = suite.suite)
      suites.splice(1, 0, suite);
    const cleanups: (() => unknown)[] = [];
    try {
      for (const suite of suites) {
        for (const hook of TestRunner.getSuiteHooks(suite).beforeEach) {
          const cleanup: unknown = await hook(test.context, suite);
          if (typeof cleanup === 'function') cleanups.push(cleanup as () => unknown);
        }
      }
      await TestRunner.getTestFn(test)();
    } finally {
      for (const suite of suites.toReversed()) {
        for (const hook of TestRunner.getSuiteHooks(suite).afterEach) await hook(test.context, suite);
      }
      for (const cleanup of cleanups) await cleanup();
      await finish(test);
    }
  }
}

/** Cleanup that the test registered with `onTestFinished`: a stopped clock would stay stopped in the next run. */
async function finish(test: Test): Promise<void> {
  const { onFinished } = test as { readonly onFinished?: ((context: unknown) => unknown)[] };
  for (const task of onFinished?.splice(0).reverse() ?? []) await task(test.context);
}

async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Too late')), milliseconds);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
