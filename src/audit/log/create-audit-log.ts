import type { AuditEvent } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { assertWholeNumber } from '../../fhir/whole-number.js';
import { isInDoubt } from '../../fhir/in-doubt.js';
import { randomId } from '../../platform/node-crypto.js';
import { pause } from '../../platform/timers.js';
import { warn } from '../../platform/warn.js';
import { ALL } from '../../search/criteria/criteria.js';
import { SERVER_SCOPE, type ResourceStore } from '../../store/store.js';
import { toAuditEvent } from '../audit-event.js';
import type { AuditRecord } from '../audit-record.js';
import type { AuditHook } from '../audit.js';
import { AUDIT_LOG_PROJECT } from './audit-project.js';
import { type AuditHead, chained, eventId, GENESIS, linkOf, segmentName } from './chain.js';
import { afterDetail, logEvent } from './log-events.js';
import { type QueuedRecord, RecordQueue } from './record-queue.js';

/** The configuration of an audit log. */
export interface AuditLogConfig {
  /** Where the events are kept: the service's own store, or another one. */
  readonly store: ResourceStore;
  /**
   * Receives the newest event of the segment after each commit. Keep it outside the store, so that `verifyAuditLog`
   * finds events that were cut off. Records are taken when its promise resolves; a failure becomes a process warning
   * (`FHIRGRAPH_AUDIT`).
   */
  readonly onHead?: ((head: AuditHead) => void | Promise<void>) | undefined;
  /**
   * How much may wait, in entries: a record counts 1 and 1 for each resource, target and patient that it names. New
   * interactions wait while more than half of it is used; a record that finds no room is not taken. Default 50,000,
   * about 10 MB.
   */
  readonly maxQueued?: number | undefined;
  /** How long records gather before they are committed together, in milliseconds. Default 2. */
  readonly gather?: number | undefined;
  /** Default: the system clock. */
  readonly clock?: (() => Date) | undefined;
}

/** A tamper-evident log of audit records, created by {@link createAuditLog}. */
export interface AuditLog {
  /** The hook for `audit` of every context: its promise resolves when the event is durable. */
  readonly audit: ((record: AuditRecord) => Promise<void>) & AuditHook;
  /** The newest event of this process's segment; undefined before the first commit. */
  readonly head: AuditHead | undefined;
  /** Resolves when all records so far were committed, or failed. */
  flush(): Promise<void>;
  /** Commits what waits and ends the segment. Later records are not taken. Closing twice is allowed. */
  close(): Promise<void>;
}

/**
 * Keeps audit records as AuditEvents in a project of their own (`fhirgraph-audit-log`). Each process writes a segment of
 * its own, in groups, chained by hash; {@link verifyAuditLog} finds what was changed, removed or cut off. No caller can
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

/** The most records of one commit, and the most entries. */
const MAX_GROUP = 200;
const MAX_GROUP_WEIGHT = 20_000;
/** Attempts of a commit that fails, and the pause before the second one in milliseconds; further ones wait longer. */
const MAX_ATTEMPTS = 4;
const RETRY_MS = 25;

class LogWriter {
  readonly #store: ResourceStore;
  #segment: string | undefined;
  #next = 0;
  #hash = GENESIS;
  #running: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  readonly #closing = new AbortController();

  constructor(
    private readonly config: AuditLogConfig,
    private readonly queue: RecordQueue,
    private readonly gather: number,
  ) {
    this.#store = config.store;
  }

  get head(): AuditHead | undefined {
    return this.#segment === undefined || this.#next === 0
      ? undefined
      : { segment: this.#segment, sequence: this.#next - 1, hash: this.#hash };
  }

  add(record: AuditRecord): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(new FhirError('unavailable', 'The audit log is closed'));
    const taken = this.queue.add(record);
    this.#start();
    return taken;
  }

  ready(): Promise<void> | undefined {
    return this.#closed === undefined ? this.queue.room() : undefined;
  }

  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    await this.flush();
    if (this.head === undefined) return;
    await this.#commit([logEvent('segment-closed', this.#now())]);
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async #run(): Promise<void> {
    if (this.gather > 0) await pause(this.gather, this.#closing.signal);
    while (!this.queue.isEmpty) await this.#writeGroup(this.queue.take(MAX_GROUP, MAX_GROUP_WEIGHT));
  }

  async #writeGroup(group: readonly QueuedRecord[]): Promise<void> {
    const { lost } = this.queue;
    try {
      const events = group.map(({ record }) => toAuditEvent(record));
      if (lost > 0) events.push(logEvent('records-lost', this.#now(), [{ type: 'count', valueString: String(lost) }]));
      await this.#commit(events);
      this.queue.lost -= lost;
      for (const { taken } of group) taken();
    } catch (error) {
      for (const { failed } of group) failed(error);
    } finally {
      this.queue.release(group);
    }
  }

  /** Appends events to the segment, all or none. */
  async #commit(events: readonly AuditEvent[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (this.#segment === undefined) await this.#open();
        await this.#append(events);
        break;
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !(error instanceof FhirError) || error.code !== 'unavailable') throw error;
        await pause(RETRY_MS * attempt);
      }
    }
    await this.#export();
  }

  async #append(events: readonly AuditEvent[]): Promise<void> {
    const segment = this.#segment!;
    let hash = this.#hash;
    const resources = events.map((event, index) => {
      const link = chained(event, { segment, sequence: this.#next + index, previous: hash });
      hash = link.hash;
      return link.event;
    });
    try {
      await this.#store.commit(
        resources.map((resource) => ({
          kind: 'put',
          key: { project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: resource.id! },
          resource,
          expect: { version: null },
        })),
      );
    } catch (error) {
      if (!(await this.#isWritten(error, segment))) throw error;
    }
    this.#next += events.length;
    this.#hash = hash;
  }

  /** Whether a commit in doubt was made. If nobody can tell, later events begin a new segment. */
  async #isWritten(error: unknown, segment: string): Promise<boolean> {
    if (!isInDoubt(error)) return false;
    const id = eventId({ segment, sequence: this.#next });
    try {
      const [found] = await this.#store.read([{ project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id }]);
      return found?.status === 'found';
    } catch {
      this.#segment = undefined;
      return false;
    }
  }

  /** The first event of a segment names the newest one before it, so that a segment cannot vanish as a whole. */
  async #open(): Promise<void> {
    await this.#makeProject();
    const { matches } = await this.#store.search({
      project: AUDIT_LOG_PROJECT,
      type: 'AuditEvent',
      criteria: ALL,
      sort: [{ parameter: '_id', descending: true }],
      limit: 1,
    });
    const newest = matches[0] === undefined ? undefined : linkOf(matches[0].resource as unknown as AuditEvent);
    this.#segment = segmentName(this.#now(), randomId());
    this.#next = 0;
    this.#hash = GENESIS;
    try {
      await this.#append([logEvent('segment-opened', this.#now(), afterDetail(newest))]);
    } catch (error) {
      this.#segment = undefined;
      throw error;
    }
  }

  async #makeProject(): Promise<void> {
    const key = { project: SERVER_SCOPE, type: 'Project', id: AUDIT_LOG_PROJECT };
    const [found] = await this.#store.read([key]);
    if (found?.status === 'found') return;
    const resource = { resourceType: 'Project', id: key.id, name: 'Audit log', active: true, strictMode: true };
    try {
      await this.#store.commit([{ kind: 'put', key, resource, expect: { version: null } }]);
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof FhirError) || error.code !== 'precondition-failed') throw error;
    }
  }

  async #export(): Promise<void> {
    try {
      await this.config.onHead?.(this.head!);
    } catch (error) {
      warn(error, 'FHIRGRAPH_AUDIT');
    }
  }

  #now(): Date {
    return this.config.clock?.() ?? new Date();
  }
}
