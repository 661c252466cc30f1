import type { AuditEvent } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { pause } from '../../platform/timers.js';
import { warn } from '../../platform/warn.js';
import type { ResourceStore } from '../../store/store.js';
import type { AuditJournal } from './audit-journal.js';
import { type AuditHead, linkOf, parseEventId } from './chain.js';
import { writeEvents } from './write-events.js';

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
