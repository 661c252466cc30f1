// A journal of the audit log in files of the host. Only this entry and those of the stores and packages need Node.js.

export { FileAuditJournal, type FileAuditJournalOptions } from './audit-journal/file-audit-journal.js';
