import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import { keyOf, put, queryOf, resourceOf } from '../kit.js';
import { LOADER } from '../load-typescript.js';

const TIDES = fileURLToPath(new URL('tides.ts', import.meta.url));

/**
 * Reads a file while another process writes it. Every call must see whole commits, with any number of statements.
 *
 * @returns the number of different states that were seen
 */
export async function readBesideWriter(file: string, rounds: number): Promise<number> {
  const store = new SqliteStore(file, { cacheBytes: 0 });
  await store.commit([
    ...['low', 'high'].map((id) => put(resourceOf('Patient', id, { language: 'l' }))),
    ...Array.from({ length: 10 }, (_, index) => put(resourceOf('Observation', `n${index}`))),
  ]);
  const child = spawn(process.execPath, ['--import', LOADER, TIDES, file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const states = new Set<string>();
  try {
    // Waits until the writer has begun.
    for (let round = 0; round < rounds || states.size < 20; round++) {
      const pair = await store.read([keyOf('Patient', 'low'), keyOf('Patient', 'high')]);
      const languages = pair.map((one) => one.status === 'found' && one.resource['language' as never]);
      expect(languages[0]).toBe(languages[1]);
      states.add(String(languages[0]));
      const { matches: patients } = await store.search(queryOf('Patient'));
      expect(new Set(patients.map(({ resource }) => resource['language' as never])).size).toBe(1);
      const page = await store.search({ ...queryOf('Observation'), limit: 12, total: true });
      expect([page.total, page.matches.length]).toEqual(page.total === 10 ? [10, 10] : [20, 12]);
      const { entries, total } = await store.history(keyOf('Patient', 'low'), { offset: 0, limit: 1 });
      expect(entries[0]!.versionId).toBe(String(total));
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    child.kill('SIGKILL');
    await ended;
    await store.close();
  }
  return states.size;
}
