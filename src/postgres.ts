export type { PostgresStoreOptions } from './stores/postgres/database/config.js';
export type {
  PoolListening,
  PostgresAnswer,
  PostgresClient,
  PostgresPool,
  PostgresScriptStatement,
  PostgresStatement,
} from './stores/postgres/database/driver.js';
export { type PgliteDatabase, pglitePool } from './stores/postgres/database/pglite-pool.js';
export type { PostgresVerification } from './stores/postgres/maintenance/maintenance.js';
export type { PostgresPools } from './stores/postgres/database/routes.js';
export { PostgresStore } from './stores/postgres/store.js';
