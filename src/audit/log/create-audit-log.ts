import { assertWholeNumber } from '../../fhir/whole-number.js';
import type { ResourceStore } from '../../store/store.js';
import type { AuditRecord } from '../audit-record.js';
import type { AuditHook } from '../audit.js';
import type { AuditJournal } from './audit-journal.js';
import type { AuditHead } from './chain.js';
import { LogWriter } from './log-writer.js';
import { RecordQueue } from './record-queue.js';

/** The configuration of an audit log. */
export interface AuditLogConfig {
  /** Where the events are kept: the service's own store, or another one. */
  readonly store: ResourceStore;
  /**
   * Where events wait until the store has them: a record is taken when its event is in the journal, and events reach the
   * store in groups. Default none: a record is taken when its event is in the store.
   */
  readonly journal?: AuditJournal | undefined;
  /**
   * Receives the newest event of the segment after each commit. Keep it outside the store, so that `verifyAuditLog`
   * finds events that were cut off. Without a journal, records are taken when its promise resolves; a failure becomes a
   * process warning (`FHIRGRAPH_AUDIT`).
   */
  readonly onHead?: ((head: AuditHead) => void | Promise<void>) | undefined;
  /**
   * How much may wait in memory, in entries: a record counts 1 and 1 for each resource, target and patient that it names.
   * New interactions wait while more than half of it is used, or as many events are in the journal; a record that finds
   * no room is not taken. Default 50,000, about 10 MB.
   */
  readonly maxQueued?: number | undefined;
  /**
   * How long records gather at most before they are written together, in milliseconds. They gather until a turn of the
   * event loop brings no other record, and while the records before them are written. Default 2; 0: no turn is waited for.
   */
  readonly gather?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: (() => Date) | undefined;
}

/** A tamper-evident log of audit records, created by {@link createAuditLog}. */
export interface AuditLog {
  /** The hook for `audit` of every context: its promise resolves when the event is in the journal or, without one, in the store. */
  readonly audit: ((record: AuditRecord) => Promise<void>) & AuditHook;
  /** The newest event of this process's segment that the store has; undefined before the first commit. */
  readonly head: AuditHead | undefined;
  /** Resolves when all records so far were committed, or failed. What a journal holds back is tried again later. */
  flush(): Promise<void>;
  /**
   * Commits what waits and ends the segment. Later records are not taken. What the store does not take stays in the
   * journal, which the host closes afterwards. Closing twice is allowed.
   */
  close(): Promise<void>;
}

/**
 * Keeps audit records as AuditEvents in a project of their own (`fhirgraph-audit-log`). Each process writes a segment of
 * its own, in groups, chained by hash; {@link verifyAuditLog} finds changes, removals and cut ends. No caller can
 * write these events, trusted code and super administrators included.
 *
 * @throws FhirError `invalid` - an option
 *
 * @example
 * const log = createAuditLog({ store, onHead: (head) => journal.append(head) });
 * const handler = createFhirHandler({ store, audit: log.audit, requireAudit: true, … });
 * process.once('SIGTERM', () => void log.close());
 */
export function createAuditLog(config: AuditLogConfig): AuditLog {
  const { maxQueued = 50_000, gather = 2 } = config;
  assertWholeNumber('maxQueued', maxQueued, 1);
  assertWholeNumber('gather', gather, 0);
  const writer = new LogWriter(config, new RecordQueue(maxQueued), gather);
  return Object.freeze({
    audit: Object.assign((record: AuditRecord) => writer.add(record), { ready: () => writer.ready() }),
    get head() {
      return writer.head;
    },
    flush: () => writer.flush(),
    close: () => writer.close(),
  });
}
