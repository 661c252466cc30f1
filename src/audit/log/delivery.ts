import type { AuditEvent } from '@medplum/fhirtypes';
import { FhirError, isInDoubt } from '../../fhir/error.js';
import { pause, warn } from '../../platform/runtime.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { AuditRecord } from '../audit-record.js';
import { AUDIT_LOG_PROJECT, type AuditHead, linkOf, parseEventId } from './chain.js';

/**
 * A durable queue in which events wait until the store has them: first in, first out, opened by one process at a time,
 * and kept when the process ends. Each event is JSON text. Two implementations are `FileAuditJournal` of
 * `fhirgraph/audit-journal` and `SqliteAuditJournal` of `fhirgraph/sqlite`.
 */
export interface AuditJournal {
  /**
   * Appends do not wait for a disk and return no promise, so each record is appended when it arrives. Default false:
   * records gather for a turn of the event loop, and while the ones before them are appended.
   */
  readonly isImmediate?: boolean | undefined;
  /**
   * Appends events, all or none. When it returns or resolves, they survive the end of the process.
   *
   * After a failure, the events may be appended all the same: their records count as not stored, and the events still
   * reach the log.
   */
  append(texts: readonly string[]): void | Promise<void>;
  /** The oldest events, in the order in which they were appended. */
  oldest(limit: number): readonly string[] | Promise<readonly string[]>;
  /** Removes the oldest events. */
  drop(count: number): void | Promise<void>;
}

/** How long events gather in the journal, and the pause after a failure, in milliseconds. */
const DELIVER_MS = 200;
const RETRY_MS = 1000;
/** Maximum number of events in one commit. */
const MAX_GROUP = 200;

/** Carries events from the journal to the store, those of an earlier process first. */
export class Delivery {
  #backlog = 0;
  #isAsked = false;
  #running: Promise<void> | undefined;
  #gathering = new AbortController();
  readonly #closing = new AbortController();
  #isFailing = false;

  /**
   * @param maxBacklog number of events in the journal above which new interactions wait, as long as the store accepts
   * events
   */
  constructor(
    private readonly store: ResourceStore,
    private readonly journal: AuditJournal,
    private readonly maxBacklog: number,
    private readonly onDelivered: (head: AuditHead) => Promise<void>,
  ) {}

  /** @throws the error of the journal */
  async append(texts: readonly string[]): Promise<void> {
    await this.journal.append(texts);
    this.#backlog += texts.length;
    this.start();
  }

  /** The same for a journal whose appends are immediate. */
  appendNow(texts: readonly string[]): void {
    void this.journal.append(texts);
    this.#backlog += texts.length;
    this.start();
  }

  start(): void {
    this.#isAsked = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // Events that were appended after the last look at the journal.
      if (this.#isAsked && !this.#isFailing) this.start();
    });
  }

  /** Resolves when the store has caught up; undefined if it need not. */
  room(): Promise<void> | undefined {
    return this.#backlog > this.maxBacklog && !this.#isFailing ? this.flush() : undefined;
  }

  /** Resolves when the store has all events of the journal, or a delivery has failed. */
  async flush(): Promise<void> {
    this.start();
    while (this.#running !== undefined) {
      this.#gathering.abort();
      await this.#running;
    }
  }

  /** Tries to deliver the remaining events once more. @returns false if events stay in the journal */
  async close(): Promise<boolean> {
    this.#closing.abort();
    await this.flush();
    return !this.#isFailing;
  }

  async #run(): Promise<void> {
    this.#gathering = new AbortController();
    if (!this.#closing.signal.aborted) await pause(DELIVER_MS, this.#gathering.signal);
    while (this.#isAsked) {
      this.#isAsked = false;
      try {
        await this.#deliver();
        this.#isFailing = false;
      } catch (error) {
        if (!this.#isFailing) warn(error, 'FHIRGRAPH_AUDIT');
        this.#isFailing = true;
        void this.#tryLater();
        return;
      }
    }
  }

  async #tryLater(): Promise<void> {
    await pause(RETRY_MS, this.#closing.signal);
    if (!this.#closing.signal.aborted) this.start();
  }

  async #deliver(): Promise<void> {
    for (;;) {
      const texts = await this.journal.oldest(MAX_GROUP);
      if (texts.length === 0) break;
      const events = texts.map(parseEvent);
      await writeEvents(this.store, eachOnce(events));
      await this.journal.drop(texts.length);
      this.#backlog = Math.max(0, this.#backlog - texts.length);
      const newest = linkOf(events.at(-1)!);
      if (newest !== undefined) await this.onDelivered(newest);
    }
  }
}

/** A journal may hold an event twice, as when an append that seemed to fail was repeated, or a file was restored. */
function eachOnce(events: readonly AuditEvent[]): readonly AuditEvent[] {
  return [...new Map(events.toReversed().map((event) => [event.id, event])).values()].toReversed();
}

/** @throws FhirError `corrupt` - the text is not an event of the log */
function parseEvent(text: string): AuditEvent {
  let event: AuditEvent | undefined;
  try {
    event = JSON.parse(text) as AuditEvent;
  } catch {
    event = undefined;
  }
  if (event?.resourceType !== 'AuditEvent' || parseEventId(event.id ?? '') === undefined) {
    throw new FhirError('corrupt', 'The journal of the audit log holds something that is not an event');
  }
  return event;
}

/** A record that waits for its commit. */
export interface QueuedRecord {
  readonly record: AuditRecord;
  readonly taken: () => void;
  readonly failed: (error: unknown) => void;
}

/** The waiting records, bounded by their number of entries. */
export class RecordQueue {
  #waiting: QueuedRecord[] = [];
  #weight = 0;
  #roomFor: (() => void)[] = [];
  /** Records that found the queue full since the last event about lost records. */
  lost = 0;

  /** @param limit in entries: a record counts 1 and 1 for each resource, target and patient that it names */
  constructor(readonly limit: number) {}

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** @throws FhirError `unavailable` - the queue is full */
  add(record: AuditRecord): Promise<void> {
    const weight = weightOf(record);
    if (this.#weight > 0 && this.#weight + weight > this.limit) {
      this.lost += 1;
      return Promise.reject(new FhirError('unavailable', 'The queue of the audit log is full'));
    }
    this.#weight += weight;
    return new Promise((taken, failed) => this.#waiting.push({ record, taken, failed }));
  }

  /** Resolves when at most half of the queue is used; undefined if it is already. */
  room(): Promise<void> | undefined {
    if (this.#weight <= this.limit / 2) return undefined;
    return new Promise((resolve) => this.#roomFor.push(resolve));
  }

  /** Takes a group for one commit. They count until they are {@link release}d. */
  take(most: number, weight: number): readonly QueuedRecord[] {
    let sum = 0;
    let count = 0;
    while (count < most && count < this.#waiting.length && (count === 0 || sum < weight)) {
      sum += weightOf(this.#waiting[count]!.record);
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  release(group: readonly QueuedRecord[]): void {
    for (const { record } of group) this.#weight -= weightOf(record);
    if (this.#weight <= this.limit / 2) for (const resolve of this.#roomFor.splice(0)) resolve();
  }
}

function weightOf({ targets, returned, patients }: AuditRecord): number {
  return 1 + targets.length + (returned?.resources.length ?? 0) + (patients?.ids.length ?? 0);
}

/** Attempts of a commit that fails, and the pause before the second one in milliseconds; further ones wait longer. */
export const RETRY = { maxAttempts: 4, pauseMs: 25 };

/**
 * Commits events, all or none. Events that the store has already are left as they are, so that a commit in doubt and a
 * journal can be written again.
 */
export async function writeEvents(store: ResourceStore, events: readonly AuditEvent[]): Promise<void> {
  let left = events;
  await withAttempts(async (attempt) => {
    if (attempt > 1) left = await missing(store, left);
    if (left.length === 0) return;
    await store.commit(
      left.map((event) => ({ kind: 'put', key: keyOf(event), resource: event as never, expect: { version: null } })),
    );
  });
}

async function missing(store: ResourceStore, events: readonly AuditEvent[]): Promise<readonly AuditEvent[]> {
  const found = await store.read(events.map(keyOf));
  return events.filter((_, index) => found[index]?.status !== 'found');
}

/** Repeats work that fails with `unavailable`, or because another attempt was made already. */
export async function withAttempts<Result>(work: (attempt: number) => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt === RETRY.maxAttempts || !mayRepeat(error)) throw error;
    }
    await pause(RETRY.pauseMs * attempt);
  }
}

function mayRepeat(error: unknown): boolean {
  if (!(error instanceof FhirError)) return false;
  return error.code === 'unavailable' || error.code === 'precondition-failed' || isInDoubt(error);
}

function keyOf({ id }: AuditEvent): ResourceKey {
  return { project: AUDIT_LOG_PROJECT, type: 'AuditEvent', id: id! };
}
