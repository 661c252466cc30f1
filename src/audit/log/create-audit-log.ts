import type { AuditEvent } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { assertWholeNumber } from '../../fhir/whole-number.js';
import { nextTurn, warn } from '../../platform/runtime.js';
import type { ResourceStore } from '../../store/store.js';
import { toAuditEvent } from '../audit-event.js';
import type { AuditRecord } from '../audit-record.js';
import type { AuditHook } from '../audit.js';
import { type AuditHead, type LinkedEvents, logEvent, Segment } from './chain.js';
import { type AuditJournal, Delivery, type QueuedRecord, RecordQueue, withAttempts, writeEvents } from './delivery.js';

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

interface LogWriterConfig {
  readonly store: ResourceStore;
  readonly journal?: AuditJournal | undefined;
  readonly onHead?: ((head: AuditHead) => void | Promise<void>) | undefined;
  readonly clock?: (() => Date) | undefined;
}

/** Maximum number of records in a group, and of entries. */
const MAX_GROUP = 200;
const MAX_GROUP_WEIGHT = 20_000;
/** Turns of the event loop without another record after which a group is written: the second sees what the first began. */
const QUIET_TURNS = 2;

const TAKEN = Promise.resolve();

/** Writes queued records in groups: to the store, or to a journal from which they are delivered to the store. */
class LogWriter {
  readonly #store: ResourceStore;
  readonly #delivery: Delivery | undefined;
  #segment: Segment | undefined;
  #running: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  /** The newest committed event of this segment. */
  head: AuditHead | undefined;

  constructor(
    private readonly config: LogWriterConfig,
    private readonly queue: RecordQueue,
    private readonly gather: number,
  ) {
    const { store, journal } = config;
    this.#store = store;
    if (journal === undefined) return;
    this.#delivery = new Delivery(store, journal, queue.limit / 2, (head) => this.#export(head));
    // What an earlier process left behind.
    this.#delivery.start();
  }

  add(record: AuditRecord): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(new FhirError('unavailable', 'The audit log is closed'));
    if (this.#isImmediate) return this.#addNow(record);
    const taken = this.queue.add(record);
    this.#start();
    return taken;
  }

  ready(): Promise<void> | undefined {
    return this.#closed === undefined ? (this.queue.room() ?? this.#delivery?.room()) : undefined;
  }

  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    await this.#delivery?.flush();
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    const isDelivered = (await this.#delivery?.close()) ?? true;
    if (this.#segment === undefined || !isDelivered) return;
    await this.#commit([logEvent('segment-closed', this.#now())]);
  }

  /**
   * True if records can be appended to the journal at once: it is immediate, and no earlier record is still pending.
   */
  get #isImmediate(): boolean {
    const { journal } = this.config;
    return (
      journal?.isImmediate === true &&
      this.#segment !== undefined &&
      this.#running === undefined &&
      this.queue.lost === 0
    );
  }

  /** Without the turns of the event loop that gathering takes. */
  #addNow(record: AuditRecord): Promise<void> {
    const segment = this.#segment!;
    try {
      const linked = segment.link([toAuditEvent(record)]);
      this.#delivery!.appendNow(linked.texts);
      segment.advance(linked);
      return TAKEN;
    } catch (error) {
      this.#segment = undefined;
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as the journal threw it
      return Promise.reject(error);
    }
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // A record that came after the last look at the queue.
      if (!this.queue.isEmpty) this.#start();
    });
  }

  async #run(): Promise<void> {
    if (this.gather > 0) await this.#untilQuiet();
    while (!this.queue.isEmpty) await this.#writeGroup(this.queue.take(MAX_GROUP, MAX_GROUP_WEIGHT));
  }

  /** PERF (all-options): concurrent requests end in successive turns, and one commit serves all of them. */
  async #untilQuiet(): Promise<void> {
    const end = performance.now() + this.gather;
    for (let quiet = 0; quiet < QUIET_TURNS && this.#closed === undefined && performance.now() < end;) {
      const before = this.queue.length;
      await nextTurn();
      quiet = this.queue.length === before ? quiet + 1 : 0;
    }
  }

  async #writeGroup(group: readonly QueuedRecord[]): Promise<void> {
    const { lost } = this.queue;
    try {
      const events = group.map(({ record }) => toAuditEvent(record));
      if (lost > 0) events.push(logEvent('records-lost', this.#now(), [{ type: 'count', valueString: String(lost) }]));
      if (this.#delivery === undefined) await this.#commit(events);
      else await this.#append(events, (linked) => this.#delivery!.append(linked.texts));
      this.queue.lost -= lost;
      for (const { taken } of group) taken();
    } catch (error) {
      for (const { failed } of group) failed(error);
    } finally {
      this.queue.release(group);
    }
  }

  async #commit(events: readonly AuditEvent[]): Promise<void> {
    await this.#export(await this.#append(events, (linked) => writeEvents(this.#store, linked.events)));
  }

  /**
   * Appends events to the segment, all or none. After a failure nobody knows whether they were written, so that later
   * events begin a new segment.
   *
   * @returns the head after them
   */
  async #append(events: readonly AuditEvent[], write: (linked: LinkedEvents) => Promise<void>): Promise<AuditHead> {
    this.#segment ??= await this.#open();
    const linked = this.#segment.link(events);
    try {
      await write(linked);
    } catch (error) {
      this.#segment = undefined;
      throw error;
    }
    this.#segment.advance(linked);
    return linked.head;
  }

  #open(): Promise<Segment> {
    return withAttempts(() => Segment.open(this.#store, this.#now(), ({ events }) => writeEvents(this.#store, events)));
  }

  async #export(head: AuditHead): Promise<void> {
    // A journal also delivers events of an earlier process, which belong to another segment.
    if (head.segment === this.#segment?.head.segment) this.head = head;
    try {
      await this.config.onHead?.(head);
    } catch (error) {
      warn(error, 'FHIRGRAPH_AUDIT');
    }
  }

  #now(): Date {
    return this.config.clock?.() ?? new Date();
  }
}
