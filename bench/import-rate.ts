import type { Bundle, Resource } from '@medplum/fhirtypes';
import Database from 'better-sqlite3';
import { importBundle, importBundles, importNdjson, systemCaller, type ResourceStore } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';

/** Imports each Bundle into a new SQLite file by a call and a transaction of its own. @returns milliseconds */
export async function importIndexed(bundles: readonly string[], file: string, project: string): Promise<number> {
  const start = performance.now();
  const store = new SqliteStore(file);
  await importInto(store, bundles, project);
  await store.close();
  return performance.now() - start;
}

/** Imports all Bundles into a new SQLite file by one call, each in a transaction of its own. @returns milliseconds */
export async function importTogether(bundles: readonly string[], file: string, project: string): Promise<number> {
  const start = performance.now();
  const store = new SqliteStore(file);
  const { refused } = await importBundles(parsed(bundles), { store, caller: systemCaller(project) });
  if (refused > 0) throw new Error(`${refused} Bundles were not imported`);
  await store.close();
  return performance.now() - start;
}

function* parsed(bundles: readonly string[]): Generator<Bundle> {
  for (const text of bundles) yield JSON.parse(text) as Bundle;
}

export async function importInto(store: ResourceStore, bundles: readonly string[], project: string): Promise<void> {
  const caller = systemCaller(project);
  for (const text of bundles) await importBundle(JSON.parse(text) as Bundle, { store, caller });
}

/** Imports the lines into a new SQLite file. @returns milliseconds */
export async function importLinesIndexed(lines: Buffer, file: string, project: string): Promise<number> {
  const start = performance.now();
  const store = new SqliteStore(file);
  await importNdjson(chunksOf(lines), { store, caller: systemCaller(project) });
  await store.close();
  return performance.now() - start;
}

/** The resources of the Bundles as NDJSON, with unchanged references. */
export function linesOf(bundles: readonly string[]): Buffer {
  const lines = bundles.flatMap((text) =>
    (JSON.parse(text) as Bundle).entry!.map(({ resource }) => `${JSON.stringify(resource)}\n`),
  );
  return Buffer.from(lines.join(''));
}

/** Chunks of the size that a file stream returns. */
function* chunksOf(lines: Buffer): Generator<Uint8Array> {
  for (let start = 0; start < lines.length; start += 65_536) yield lines.subarray(start, start + 65_536);
}

/**
 * The floor of an import: parses the same texts, rewrites their references, and writes resource and version rows in the
 * same transactions with the same durability. It writes no search index.
 *
 * @returns milliseconds
 */
export function importPlainly(bundles: readonly string[], file: string): number {
  return timed(file, (write) => {
    for (const text of bundles) {
      const { entry = [] } = JSON.parse(text) as Bundle;
      const names = new Map(
        entry.map(({ fullUrl, resource }) => [fullUrl, `${resource!.resourceType}/${resource!.id}`]),
      );
      for (const { resource } of entry) rewriteReferences(resource!, names);
      write(entry.map(({ resource }) => resource!));
    }
  });
}

/** The floor of an import of lines, with as many lines per transaction. @returns milliseconds */
export function importLinesPlainly(lines: Buffer, file: string): number {
  return timed(file, (write) => {
    const decoder = new TextDecoder();
    let rest = '';
    let batch: Resource[] = [];
    for (const chunk of chunksOf(lines)) {
      const texts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = texts.pop()!;
      for (const text of texts) {
        batch.push(JSON.parse(text) as Resource);
        if (batch.length < LINES_PER_COMMIT) continue;
        write(batch);
        batch = [];
      }
    }
    write(batch);
  });
}

/** The default of `importNdjson`. */
const LINES_PER_COMMIT = 200;

/** Opens a file without search index. @param load receives a function that writes resources in one transaction per call */
function timed(file: string, load: (write: (resources: readonly Resource[]) => void) => void): number {
  const start = performance.now();
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(`
    CREATE TABLE resource (
      key INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, content INTEGER, UNIQUE (type, id));
    CREATE TABLE version (key INTEGER PRIMARY KEY, resource INTEGER NOT NULL, updated INTEGER NOT NULL, text TEXT);
    CREATE INDEX version_by_resource ON version (resource, key);`);
  const addResource = database.prepare(
    `INSERT INTO resource (type, id) VALUES (?, ?) ON CONFLICT (type, id) DO UPDATE SET type = type RETURNING key`,
  );
  const addVersion = database.prepare('INSERT INTO version (resource, updated, text) VALUES (?, ?, ?)');
  const setContent = database.prepare('UPDATE resource SET content = ? WHERE key = ?');

  const write = database.transaction((resources: readonly Resource[]) => {
    const now = Date.now();
    const meta = { versionId: '1', lastUpdated: new Date(now).toISOString() };
    for (const resource of resources) {
      const { key } = addResource.get(resource.resourceType, resource.id) as { key: number };
      const stored = { ...resource, meta: { ...resource.meta, ...meta } };
      const version = addVersion.run(key, now, JSON.stringify(stored));
      setContent.run(version.lastInsertRowid, key);
    }
  });
  load(write);
  database.close();
  return performance.now() - start;
}

function rewriteReferences(value: object, names: ReadonlyMap<string | undefined, string>): void {
  for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
    if (typeof inner === 'object' && inner !== null) rewriteReferences(inner, names);
    else if (key === 'reference' && typeof inner === 'string') {
      (value as { reference: string }).reference = names.get(inner) ?? inner;
    }
  }
}
