import Database from 'better-sqlite3';
import { writeFileSync } from 'node:fs';
import { SqliteStore } from '../../src/sqlite.js';

let bytes: Buffer | undefined;

/** Writes the file of an empty SqliteStore, which is half the work of its first opening. */
export function emptySqliteFile(file: string): string {
  if (bytes === undefined) {
    const database = new Database(':memory:');
    void new SqliteStore(database).close();
    bytes = database.serialize();
    database.close();
  }
  writeFileSync(file, bytes);
  return file;
}
