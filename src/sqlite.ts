export type { SqliteStoreOptions } from './stores/sqlite/config.js';
export type { SqliteDatabase, SqliteStatement } from './stores/sqlite/driver.js';
export { SqliteStore } from './stores/sqlite/store.js';
