import { FhirError } from '../../fhir/error.js';
import type { AuditRecord } from '../audit-record.js';

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
