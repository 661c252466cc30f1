import { type AuditJournal, RecordQueue } from './delivery.js';
import { assertWholeNumber } from '../../fhir/whole-number.js';
import type { ResourceStore } from '../../store/store.js';
import type { AuditRecord } from '../audit-record.js';
import type { AuditHook } from '../audit.js';
import type { AuditHead } from './chain.js';
import { LogWriter } from './log-writer.js';

/** The configuration of an audit log. */
export interface AuditLogConfig {
  /** The store of the events: the service's own store, or a separate one. */
  readonly store: ResourceStore;
  /**
   * A durable queue in which events wait for the store: a record counts as stored when its event is in the journal, and
   * events reach the store in groups. Default none: a record counts as stored when its event is in the store.
   */
  readonly journal?: AuditJournal | undefined;
  /**
   * Receives the newest event of the segment after each commit. Keep it outside the store, so that `verifyAuditLog`
   * finds events that were cut off. Without a journal, records count as stored when its promise resolves; a failure
   * becomes a process warning (`FHIRGRAPH_AUDIT`).
   */
  readonly onHead?: ((head: AuditHead) => void | Promise<void>) | undefined;
  /**
   * Maximum size of the queue in memory, in entries: a record counts 1, and 1 more for each resource, target and
   * patient that it names. New interactions wait while more than half of it is used, or as many events are in the
   * journal; a record that finds no room is lost. Default 50,000, about 10 MB.
   */
  readonly maxQueued?: number | undefined;
  /**
   * How long records gather at most before they are written together, in milliseconds. They gather until a turn of the
   * event loop brings no other record, and while the records before them are written. Default 2; 0: do not wait for a
   * turn.
   */
  readonly gather?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: (() => Date) | undefined;
}

/** A tamper-evident log of audit records, created by {@link createAuditLog}. */
export interface AuditLog {
  /** The hook for `audit` of every context: its promise resolves when the event is in the journal or, without one, in the store. */
  readonly audit: ((record: AuditRecord) => Promise<void>) & AuditHook;
  /** The newest committed event of this process's segment; undefined before the first commit. */
  readonly head: AuditHead | undefined;
  /**
   * Resolves when all records so far are committed or have failed. Events that stay in a journal are tried again later.
   */
  flush(): Promise<void>;
  /**
   * Commits the waiting events and ends the segment. Later records are refused. Events that the store does not accept
   * stay in the journal, which the host closes afterwards. Closing twice is allowed.
   */
  close(): Promise<void>;
}

/**
 * Keeps audit records as AuditEvents in a project of their own (`fhirgraph-audit-log`). Each process writes a segment
 * of its own, in groups, chained by hash; {@link verifyAuditLog} finds changes, removals and cut ends. No caller can
 * write these events, not even trusted code or super administrators.
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
