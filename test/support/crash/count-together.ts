import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import { keyOf } from '../kit.js';
import { LOADER } from '../load-typescript.js';
import type { CounterReport } from './counter.js';

const COUNTER = fileURLToPath(new URL('counter.ts', import.meta.url));

/**
 * Lets processes add to three counters of one file by `expect`. Every acknowledged addition has its own version, none
 * is lost, none is done twice.
 *
 * @returns how often an addition came too late or found the file locked
 */
export async function countTogether(
  file: string,
  { processes, times, seed }: { readonly processes: number; readonly times: number; readonly seed: number },
): Promise<{ readonly overtaken: number; readonly locked: number }> {
  const controller = new AbortController();
  const options = { maxBuffer: 1 << 26, signal: controller.signal };
  const reports = await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const values = [file, `n${index}`, String(times), String(seed + index), String(processes)];
      const { stdout } = await promisify(execFile)(process.execPath, ['--import', LOADER, COUNTER, ...values], options);
      return JSON.parse(stdout) as CounterReport;
    }),
    // If a process has failed, the others would wait for it.
  ).finally(() => controller.abort());
  const store = new SqliteStore(file);
  const authors = new Map(reports.flatMap(({ done }, index) => done.map((name) => [name.join(' '), `n${index}`])));
  expect(authors.size).toBe(processes * times);
  let total = 0;
  for (const id of ['c0', 'c1', 'c2']) {
    const { entries } = await store.history(keyOf('Basic', id), { offset: 0, limit: processes * times });
    total += entries.length;
    expect(entries.map((entry) => [entry.versionId, entry.kind === 'put' && entry.resource])).toEqual(
      entries.map((_, index) => {
        const value = entries.length - index;
        const resource = { value, author: { display: authors.get(`${id} ${value}`) } };
        return [String(value), expect.objectContaining(resource)];
      }),
    );
  }
  expect(total).toBe(processes * times);
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
  return {
    overtaken: reports.reduce((sum, report) => sum + report.overtaken, 0),
    locked: reports.reduce((sum, report) => sum + report.locked, 0),
  };
}
