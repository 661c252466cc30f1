import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Facts } from './clinic.js';

const FOLDER = join(import.meta.dirname, 'fixtures');

/** A database that an older release wrote, and the values that it generated. */
export interface Fixture<Content> {
  /** A release, or a schema from before the first release. */
  readonly version: string;
  readonly content: Content;
  readonly facts: Facts;
}

/** The SQLite files, uncompressed. */
export const SQLITE_FIXTURES: readonly Fixture<Buffer>[] = fixturesOf('clinic.db.gz', 'sqlite', gunzipSync);

/** The PostgreSQL dumps: statements that fill an empty schema `public`. */
export const POSTGRES_FIXTURES: readonly Fixture<string>[] = fixturesOf('clinic.sql', 'postgres', String);

function fixturesOf<Content>(
  file: string,
  store: 'sqlite' | 'postgres',
  read: (kept: Buffer) => Content,
): readonly Fixture<Content>[] {
  return readdirSync(FOLDER)
    .filter((version) => existsSync(join(FOLDER, version, file)))
    .sort()
    .map((version) => {
      const facts = JSON.parse(readFileSync(join(FOLDER, version, 'facts.json'), 'utf8')) as { [store: string]: Facts };
      return { version, content: read(readFileSync(join(FOLDER, version, file))), facts: facts[store]! };
    });
}
