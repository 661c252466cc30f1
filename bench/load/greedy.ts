import { createRepository, executeFhirGraphql, systemCaller, type FhirGraphqlContext } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { QUERIES } from '../queries.js';
import { quantile } from './clients.js';

/** Throughput and latency of twenty modest tenants beside a greedy tenant. */
export interface GreedyReport {
  readonly name: string;
  /** Reads of the modest tenants per second, and milliseconds per read. */
  readonly reads: number;
  readonly p50: number;
  readonly p99: number;
  /** Wide lists of the greedy tenant per second. */
  readonly lists: number;
}

const TENANTS = Array.from({ length: 20 }, (_, index) => `modest-${index}`);
const GREEDY_AT_ONCE = 64;
const WIDE = QUERIES.find(({ name }) => name === 'wide')!.text;
const LIMITS = { concurrency: { total: 4, project: 2, queue: 200 } };

/**
 * One project requests wide lists, 64 at a time, while twenty others read one patient after the other. All run in one process
 * over one file, without limits and with them.
 */
export async function besideGreedy(file: string, project: string, seconds: number): Promise<readonly GreedyReport[]> {
  const store = new SqliteStore(file);
  for (const tenant of TENANTS) {
    await createRepository({ store, caller: systemCaller(tenant) }).update({ resourceType: 'Patient', id: '1' });
  }
  const reports: GreedyReport[] = [];
  for (const [name, limits] of [
    ['without limits', {}],
    ['with concurrency { total: 4, project: 2 }', LIMITS],
  ] as const) {
    reports.push(await measure(name, { store, limits }, project, seconds));
  }
  await store.close();
  return reports;
}

async function measure(
  name: string,
  context: Pick<FhirGraphqlContext, 'store' | 'limits'>,
  project: string,
  seconds: number,
): Promise<GreedyReport> {
  const end = performance.now() + seconds * 1000;
  const times: number[] = [];
  let lists = 0;
  const ask = (query: string, tenant: string): Promise<unknown> =>
    executeFhirGraphql(query, { ...context, caller: systemCaller(tenant) });
  const greedy = Array.from({ length: GREEDY_AT_ONCE }, async () => {
    while (performance.now() < end) {
      await ask(WIDE, project);
      lists += 1;
      // A socket would also wait for the next turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  const modest = TENANTS.map(async (tenant) => {
    while (performance.now() < end) {
      const start = performance.now();
      await ask('{ Patient(id: "1") { id } }', tenant);
      times.push(performance.now() - start);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  await Promise.all([...greedy, ...modest]);
  return {
    name,
    reads: times.length / seconds,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    lists: lists / seconds,
  };
}
