import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type Pg from 'pg';
import { FhirError } from '../fhir/error.js';
import { FhirModel } from '../fhir/model/fhir-model.js';
import { PostgresStore } from '../stores/postgres/store.js';
import type { Opening } from '../stores/sql/opening.js';
import { SqliteStore } from '../stores/sqlite/store.js';
import { type OpenedStore, UsageError } from './command.js';

/** How a command opens a database. */
interface DatabaseOptions {
  readonly opening: Opening;
  /** The definitions of the host; undefined: FHIR R4 with Medplum's types. */
  readonly definitions: string | undefined;
  readonly needsDefinitions: boolean;
  /** Creates what is missing. */
  readonly create: boolean;
}

/**
 * Opens a SQLite file, or the database of a PostgreSQL URL. Every store opens as a reader first, so that a command
 * neither creates nor migrates anything without its option.
 *
 * @throws FhirError `unavailable` - there is no such file; the database holds no store; its definitions are others; and
 * as the constructors of the stores
 */
export async function openDatabase(name: string, options: DatabaseOptions): Promise<OpenedStore> {
  const model = options.definitions === undefined ? undefined : await loadDefinitions(options.definitions);
  const open = isUrl(name) ? await postgresOpener(name, model) : sqliteOpener(name, model, options.create);
  if (options.create || options.opening === 'owner') return open(options.opening);
  const reader = await open('reader');
  try {
    // A call prepares the store: a reader of an empty database is refused.
    const isOurs = await reader.store.hasSameDefinitions();
    if (!isOurs && (options.needsDefinitions || options.opening !== 'reader')) throw otherDefinitions();
    if (options.opening === 'reader') return reader;
  } catch (error) {
    await reader.close();
    throw error;
  }
  await reader.close();
  return open(options.opening);
}

type Opener = (opening: Opening) => Promise<OpenedStore>;

function isUrl(name: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(name);
}

function sqliteOpener(name: string, model: FhirModel | undefined, create: boolean): Opener {
  const file = resolve(name);
  return async (opening) => {
    // A store that may write would create it.
    if (!create && !existsSync(file)) throw new FhirError('unavailable', `There is no file ${file}`);
    const store = new SqliteStore(file, { ...openingOptions(opening), model, reindex: 'manual' });
    return { store, close: () => store.close() };
  };
}

async function postgresOpener(url: string, model: FhirModel | undefined): Promise<Opener> {
  const { Pool } = await loadDriver();
  return async (opening) => {
    const pool = new Pool({ connectionString: url, max: CONNECTIONS });
    // The call that needs a lost connection reports it.
    pool.on('error', () => undefined);
    const store = new PostgresStore(pool, { ...openingOptions(opening), model, reindex: 'manual' });
    const close = async (): Promise<void> => {
      await store.close();
      await pool.end();
    };
    return { store, close };
  };
}

/** The work of one command runs in few connections. */
const CONNECTIONS = 4;

/** @throws FhirError `unavailable` - the package `pg` is not installed */
async function loadDriver(): Promise<Pick<typeof Pg, 'Pool'>> {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    const message = 'A PostgreSQL database needs the package pg; install it with: npm install pg';
    throw new FhirError('unavailable', message, { cause });
  }
}

function openingOptions(opening: Opening): { readonly takeOver?: boolean; readonly readonly?: boolean } {
  return opening === 'owner' ? { takeOver: true } : opening === 'reader' ? { readonly: true } : {};
}

/** @throws UsageError - the module cannot be loaded, or its default export has another form */
async function loadDefinitions(module: string): Promise<FhirModel> {
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(pathToFileURL(resolve(module)).href)) as typeof loaded;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`--definitions cannot be loaded: ${reason}`);
  }
  const model = await loaded.default;
  if (model instanceof FhirModel) return model;
  throw new UsageError('--definitions needs a module whose default export is made by extendDefinitions or withBaseUrl');
}

function otherDefinitions(): FhirError {
  return new FhirError(
    'unavailable',
    'The database was written with other definitions or a baseUrl; name the module that exports them with --definitions',
  );
}
