import type { Bundle } from '@medplum/fhirtypes';
import Database from 'better-sqlite3';
import { importBundle, systemCaller, type ResourceStore } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';

/** Imports the Bundles into a new SQLite file, one transaction each. @returns milliseconds */
export async function importIndexed(bundles: readonly string[], file: string, project: string): Promise<number> {
  const start = performance.now();
  const store = new SqliteStore(file);
  await importInto(store, bundles, project);
  await store.close();
  return performance.now() - start;
}

export async function importInto(store: ResourceStore, bundles: readonly string[], project: string): Promise<void> {
  const caller = systemCaller(project);
  for (const text of bundles) await importBundle(JSON.parse(text) as Bundle, { store, caller });
}

/**
 * The floor of an import: the same texts parsed, their references rewritten, resource and version rows written in the
 * same transactions under the same durability, and no search index.
 *
 * @returns milliseconds
 */
export function importPlainly(bundles: readonly string[], file: string): number {
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

  const load = database.transaction((text: string) => {
    const now = Date.now();
    const meta = { versionId: '1', lastUpdated: new Date(now).toISOString() };
    const { entry = [] } = JSON.parse(text) as Bundle;
    const names = new Map(entry.map(({ fullUrl, resource }) => [fullUrl, `${resource!.resourceType}/${resource!.id}`]));
    for (const { resource } of entry) {
      const { key } = addResource.get(resource!.resourceType, resource!.id) as { key: number };
      rewriteReferences(resource!, names);
      const stored = { ...resource, meta: { ...resource!.meta, ...meta } };
      const version = addVersion.run(key, now, JSON.stringify(stored));
      setContent.run(version.lastInsertRowid, key);
    }
  });
  for (const text of bundles) load(text);
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
