export { SqliteAuditJournal, type SqliteAuditJournalOptions } from './stores/sqlite/audit-journal.js';
export type { SqliteStoreOptions } from './stores/sqlite/config.js';
export type { SqliteDatabase, SqliteStatement } from './stores/sqlite/database/driver.js';
export type { NodeSqliteDatabase, NodeSqliteStatement } from './stores/sqlite/database/node-sqlite.js';
export type { Verification } from './stores/sqlite/maintenance/verify.js';
export type { SqlValue } from './stores/sql/sql.js';
export { SqliteStore } from './stores/sqlite/store.js';
