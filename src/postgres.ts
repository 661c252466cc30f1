export type { PostgresStoreOptions } from './stores/postgres/config.js';
export type {
  PoolListening,
  PostgresAnswer,
  PostgresClient,
  PostgresPool,
  PostgresScriptStatement,
  PostgresStatement,
} from './stores/postgres/driver.js';
export { type PgliteDatabase, pglitePool } from './stores/postgres/pglite-pool.js';
export type { ReindexMode, ReindexOptions, ReindexProgress } from './stores/sql/reindex.js';
export type { PostgresVerification } from './stores/postgres/maintenance.js';
export type { PostgresPools } from './stores/postgres/routes.js';
export { PostgresStore } from './stores/postgres/store.js';
