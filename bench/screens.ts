import Database from 'better-sqlite3';
import { importNdjson, MemoryStore, type ResourceStore, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { join } from 'node:path';
import { assertEqualAnswers } from './equal-answers.js';
import { compare } from './measure.js';
import type { Variables, Variant } from './queries.js';
import { screensFloor } from './screens/floor.js';
import { hospital, PATIENT } from './screens/hospital.js';
import { SCREENS } from './screens/queries.js';
import { ratiosTable } from './table.js';
import { fhirgraph } from './variants/fhirgraph.js';

const PROJECT = 'hospital';
const TARGETS: Readonly<Record<string, number>> = { 'SQLite, cold cache': 1.5, 'SQLite, warm cache': 1 };

/** Prints a table per screen, with times relative to hand-written SQL over indexes that were made for the screens. */
export async function benchScreens(folder: string, patients: number, rounds: number): Promise<void> {
  const opened = await openScreens(folder, patients);
  try {
    for (const screen of SCREENS) {
      const bytes = await assertEqualAnswers(opened.variants, screen, VARIABLES);
      const subjects = opened.variants.map((variant) => ({
        name: variant.name,
        run: variant.prepare(screen, VARIABLES),
      }));
      const timings = await compare(subjects, rounds);
      const title = `${screen.what}, ${(bytes / 1000).toFixed(1)} kB of JSON`;
      console.log(`\n${ratiosTable(title, timings, TARGETS)}`);
    }
  } finally {
    await opened.close();
  }
}

export const VARIABLES: Variables = { patient: PATIENT, gender: 'female' };

/** The same hospital in the tables of the floor and in the stores of this library. */
export async function openScreens(
  folder: string,
  patients: number,
): Promise<{ readonly variants: readonly Variant[]; close(): Promise<void> }> {
  const database = new Database(join(folder, 'screens-floor.db'));
  const file = join(folder, 'screens.db');
  const warm = new SqliteStore(file);
  const memory = new MemoryStore();
  for (const store of [warm, memory]) await load(store, patients);
  const cold = new SqliteStore(file, { cacheBytes: 0 });
  return {
    variants: [
      screensFloor(database, hospital(patients)),
      fhirgraph('SQLite, cold cache', cold, PROJECT),
      fhirgraph('SQLite, warm cache', warm, PROJECT),
      fhirgraph('memory', memory, PROJECT),
    ],
    async close() {
      database.close();
      await Promise.all([cold.close(), warm.close(), memory.close()]);
    },
  };
}

async function load(store: ResourceStore, patients: number): Promise<void> {
  const { failed } = await importNdjson(lines(patients), { store, caller: systemCaller(PROJECT) });
  if (failed > 0) throw new Error(`${failed} resources of the screens were not imported`);
}

function* lines(patients: number): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  for (const resource of hospital(patients)) yield encoder.encode(`${JSON.stringify(resource)}\n`);
}
