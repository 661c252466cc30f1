import type { ResourceStore } from '../store/store.js';
import type { ConformanceCase, ConformanceSuite } from './conformance-case.js';
import { createRandom } from './random.js';
import { accessEpochSuite } from './suites/access-epoch.js';
import { budgetSuite } from './suites/budgets.js';
import { changeSuite } from './suites/changes.js';
import { conditionSuite } from './suites/conditions.js';
import { criteriaSuite } from './suites/criteria.js';
import { decimalSuite } from './suites/decimals.js';
import { eventSuite } from './suites/events.js';
import { insideSuite } from './suites/inside.js';
import { linkSuite } from './suites/links.js';
import { orderSuite } from './suites/order.js';
import { positionSuite } from './suites/positions.js';
import { privacySuite } from './suites/privacy.js';
import { randomSuite } from './suites/random-searches.js';
import { readingSuite } from './suites/reading.js';
import { removalSuite } from './suites/removal.js';
import { typeHistorySuite } from './suites/type-history.js';
import { valueSuite } from './suites/values.js';
import { writingSuite } from './suites/writing.js';

/** The part of a test runner that the kit needs; vitest, jest and node:test provide it. */
export interface ConformanceRunner {
  test(name: string, run: () => Promise<void>): unknown;
  /** Groups tests, where the runner can. */
  describe?(name: string, define: () => void): unknown;
}

/** A case to skip, with the reason that the test's name shows. */
export interface ConformanceSkip {
  /** `suite: case`, as the kit prints it. */
  readonly name: string;
  readonly reason: string;
}

/** Options of the conformance kit; all have defaults. */
export interface ConformanceOptions {
  /** Default: none. */
  readonly skip?: readonly ConformanceSkip[] | undefined;
  /** Seed of the random data; a failing case reports it. Default: a new one for each run. */
  readonly seed?: number | undefined;
  /** Factor on the number of random cases: 0.2 takes a fifth of the time, 20 finds rarer faults. Default: 1. */
  readonly effort?: number | undefined;
}

/**
 * Tests that a store keeps the promises of `ResourceStore`.
 *
 * @param createStore creates an empty store; called for each case, and closed at the end of the case. A store that takes
 * a base URL needs a run with one, which tests what absolute references mean.
 * @throws Error - a skip does not name an existing case.
 *
 * @example
 * import { describe, test } from 'vitest';
 * storeConformance({ describe, test }, () => new MyStore());
 */
export function storeConformance(
  runner: ConformanceRunner,
  createStore: () => ResourceStore | Promise<ResourceStore>,
  options: ConformanceOptions = {},
): void {
  const reasons = new Map(options.skip?.map(({ name, reason }) => [name, reason]));
  const names = new Set(SUITES.flatMap((suite) => suite.cases.map((one) => `${suite.name}: ${one.name}`)));
  const unknown = [...reasons.keys()].filter((name) => !names.has(name));
  if (unknown.length > 0) throw new Error(`No such conformance case: ${unknown.join(', ')}`);
  const seed = options.seed ?? Math.floor(Math.random() * 0x7fffffff);
  for (const suite of SUITES) {
    const define = (): void => {
      for (const one of suite.cases) {
        const name = `${suite.name}: ${one.name}`;
        const reason = reasons.get(name);
        if (reason !== undefined) runner.test(`${name} (left out: ${reason})`, () => Promise.resolve());
        else runner.test(name, () => runCase(one, createStore, seed, options.effort ?? 1));
      }
    };
    if (runner.describe === undefined) define();
    else runner.describe(suite.name, define);
  }
}

const SUITES: readonly ConformanceSuite[] = [
  readingSuite,
  writingSuite,
  typeHistorySuite,
  accessEpochSuite,
  conditionSuite,
  decimalSuite,
  valueSuite,
  criteriaSuite,
  orderSuite,
  positionSuite,
  budgetSuite,
  linkSuite,
  insideSuite,
  privacySuite,
  eventSuite,
  changeSuite,
  removalSuite,
  randomSuite,
];

async function runCase(
  { run }: ConformanceCase,
  createStore: () => ResourceStore | Promise<ResourceStore>,
  seed: number,
  effort: number,
): Promise<void> {
  const store = await createStore();
  try {
    await run(store, createRandom(seed), effort);
  } catch (error) {
    if (error instanceof Error) error.message += `\n(seed of the random data: ${seed})`;
    throw error;
  } finally {
    await store.close();
  }
}
