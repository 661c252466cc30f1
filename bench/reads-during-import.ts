import { importBundle, importNdjson, type ResourceStore, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import type { Bundle } from '@medplum/fhirtypes';

/** The times of reads beside other work in the same process, in milliseconds. */
export interface ReadTimes {
  readonly name: string;
  readonly median: number;
  readonly p99: number;
  readonly longest: number;
  readonly reads: number;
  /** Of the import; undefined if no import ran. */
  readonly resourcesPerSecond: number | undefined;
}

/** Interval between reads, in milliseconds. */
const EVERY = 5;

/**
 * Times reads of a store without other work, then during imports into it: NDJSON in batches of several sizes, and transaction
 * Bundles, each of which is one commit.
 *
 * The time of a read begins when the read is due, so that it includes the wait for a blocked thread.
 *
 * @param makeFile returns a new copy of a file with the resources that are read
 * @param prepareRead returns a function that reads once from a store
 */
export async function readsDuringImport(
  makeFile: () => string,
  bundles: readonly string[],
  prepareRead: (store: SqliteStore) => () => unknown,
): Promise<readonly ReadTimes[]> {
  const caller = systemCaller('other');
  const lines = bundles.flatMap((text) => (JSON.parse(text) as Bundle).entry!.map(({ resource }) => resource!));
  const ndjson = lines.map((resource) => JSON.stringify(resource)).join('\n');
  const works: readonly (readonly [name: string, work: (store: ResourceStore) => Promise<unknown>])[] = [
    ['no import', () => new Promise((resolve) => setTimeout(resolve, 2_000))],
    ...[1_000, 500, 200, 100, 50].map(
      (batchLines) =>
        [
          `importNdjson, ${batchLines} lines a batch`,
          (store: ResourceStore) => importNdjson(ndjson, { store, caller, batchLines }),
        ] as const,
    ),
    [
      'importBundle, one after the other',
      async (store) => {
        for (const text of bundles) {
          await importBundle(JSON.parse(text) as Bundle, { store, caller });
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
    ],
  ];
  const times: ReadTimes[] = [];
  for (const [name, work] of works) {
    const store = new SqliteStore(makeFile());
    const start = performance.now();
    const latencies = await timeReadsDuring(() => work(store), prepareRead(store));
    const seconds = (performance.now() - start) / 1000;
    await store.close();
    const sorted = latencies.toSorted((one, other) => one - other);
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
    const resourcesPerSecond = name === 'no import' ? undefined : lines.length / seconds;
    times.push({ name, median: at(0.5), p99: at(0.99), longest: at(1), reads: sorted.length, resourcesPerSecond });
  }
  return times;
}

async function timeReadsDuring(work: () => Promise<unknown>, read: () => unknown): Promise<number[]> {
  const latencies: number[] = [];
  const running = new Set<Promise<void>>();
  let due = performance.now();
  const takeIn = (): void => {
    // Reads that came due while the thread was busy run one by one, as in a server.
    for (; due <= performance.now(); due += EVERY) {
      const since = due;
      const one: Promise<void> = Promise.resolve(read()).then(() => {
        latencies.push(performance.now() - since);
        running.delete(one);
      });
      running.add(one);
    }
  };
  const timer = setInterval(takeIn, 1);
  await work();
  clearInterval(timer);
  await Promise.all(running);
  return latencies;
}
