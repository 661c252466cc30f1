import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';

/** Next to the caches of other tools. `npm ci` removes it. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/fhirgraph', import.meta.url));

/**
 * An empty PostgreSQL within this process. Creating its files takes two seconds, so the first worker keeps them for the
 * others and for the next run.
 */
export async function openPglite(): Promise<PGlite> {
  const file = join(FOLDER, `pglite-${versionOf('@electric-sql/pglite')}.tar`);
  const kept = bytesOf(file);
  if (kept !== undefined) return PGlite.create({ loadDataDir: new Blob([kept]) });
  const database = await PGlite.create();
  const dump = await database.dumpDataDir('none');
  mkdirSync(FOLDER, { recursive: true });
  // Another worker can be at the same point, so a file appears as a whole or not at all.
  const written = `${file}.${process.pid}`;
  writeFileSync(written, new Uint8Array(await dump.arrayBuffer()));
  renameSync(written, file);
  return database;
}

function bytesOf(file: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return new Uint8Array(readFileSync(file));
  } catch {
    return undefined;
  }
}

function versionOf(name: string): string {
  const entry = createRequire(import.meta.url).resolve(name);
  const folder = entry.slice(0, entry.lastIndexOf(name) + name.length);
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly version: string }).version;
}
