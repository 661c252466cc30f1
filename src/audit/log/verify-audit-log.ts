import type { AuditEvent } from '@medplum/fhirtypes';
import { ALL } from '../../search/criteria/criteria.js';
import { everyMatch } from '../../store/every-page.js';
import type { ResourceStore } from '../../store/store.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { AUDIT_LOG_PROJECT, type AuditHead, eventId, GENESIS, headBefore, isClosing, linkOf } from './chain.js';

/** The log to verify. */
export interface VerifyAuditLogContext {
  readonly store: ResourceStore;
  /** Heads that the host kept from `onHead`: the newest of each segment is enough. Default none. */
  readonly heads?: readonly AuditHead[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The state of an audit log. */
export interface AuditLogReport {
  /** True if there are no problems. */
  readonly intact: boolean;
  /** Events read. */
  readonly events: number;
  readonly segments: readonly AuditSegment[];
  /** The first 1,000 problems, in the order of segments. */
  readonly problems: readonly AuditLogProblem[];
}

/** One process's part of the log. */
export interface AuditSegment {
  readonly segment: string;
  readonly events: number;
  readonly head: AuditHead;
  /** False for the segment of a process that is running or was killed. */
  readonly closed: boolean;
}

/** A problem of the log. */
export interface AuditLogProblem {
  /**
   * - `gap`: events are missing before this one
   * - `changed`: its content or its place in the chain was changed
   * - `cut`: this event is missing, but a kept head or a later segment refers to it
   * - `foreign`: an AuditEvent that the log did not write
   */
  readonly kind: 'gap' | 'changed' | 'cut' | 'foreign';
  /** The id of the AuditEvent, or the segment and sequence of a missing one. */
  readonly event: string;
}

/**
 * Reads the whole log, and finds gaps, changed events and, with the heads that the host kept, cut ends. Memory is
 * bounded by the number of segments.
 *
 * A person who can write to the database can compute a new chain. Only heads that are kept elsewhere prove that this is
 * the original chain.
 *
 * @throws FhirError `aborted`, `unavailable` - from the store
 *
 * @example
 * const { intact, problems } = await verifyAuditLog({ store, heads: await journal.heads() });
 */
export async function verifyAuditLog(context: VerifyAuditLogContext): Promise<AuditLogReport> {
  const check = new LogCheck(context.heads ?? []);
  const { store, signal } = context;
  // The order of ids is that of segments and sequences.
  const query = { project: AUDIT_LOG_PROJECT, type: 'AuditEvent', criteria: ALL };
  for await (const row of everyMatch(PAGE, (page, budget) => store.search({ ...query, ...page }, { signal, budget })))
    check.add(row);
  return check.report();
}

const PAGE = 500;
const MAX_PROBLEMS = 1000;

class LogCheck {
  #events = 0;
  readonly #segments: AuditSegment[] = [];
  readonly #problems: AuditLogProblem[] = [];
  /** Expected hashes by event: of the host's heads, and of those that later segments name. */
  readonly #known = new Map<string, string>();
  /** The events that openings of segments name. */
  readonly #before: AuditHead[] = [];
  #current: { segment: string; events: number; next: number; hash: string; closed: boolean } | undefined;

  constructor(heads: readonly AuditHead[]) {
    for (const head of heads) this.#known.set(eventId(head), head.hash);
  }

  add({ resource }: StoredResource): void {
    this.#events += 1;
    const event = resource as unknown as AuditEvent;
    const link = linkOf(event);
    if (link === undefined) return this.#report('foreign', event.id!);
    const { segment, sequence, previous, hash, isIntact } = link;
    if (this.#current?.segment !== segment) this.#begin(segment);
    const current = this.#current!;
    if (sequence !== current.next) this.#report('gap', event.id!);
    const follows = sequence === current.next && previous === current.hash;
    if (!isIntact || (sequence === current.next && !follows)) this.#report('changed', event.id!);
    const expected = this.#known.get(eventId(link));
    if (expected !== undefined && expected !== hash) this.#report('changed', event.id!);
    if (expected !== undefined) this.#known.delete(eventId(link));
    const before = sequence === 0 ? headBefore(event) : undefined;
    if (before !== undefined) this.#before.push(before);
    Object.assign(current, { events: current.events + 1, next: sequence + 1, hash, closed: isClosing(event) });
  }

  report(): AuditLogReport {
    this.#finish();
    for (const before of this.#before) this.#follow(before);
    for (const name of this.#known.keys()) this.#report('cut', name);
    const problems = this.#problems;
    return { intact: problems.length === 0, events: this.#events, segments: this.#segments, problems };
  }

  #begin(segment: string): void {
    this.#finish();
    this.#current = { segment, events: 0, next: 0, hash: GENESIS, closed: false };
  }

  #finish(): void {
    if (this.#current === undefined) return;
    const { segment, events, next, hash, closed } = this.#current;
    this.#segments.push({ segment, events, head: { segment, sequence: next - 1, hash }, closed });
    this.#current = undefined;
  }

  /** The segment of that event may have grown since. */
  #follow(before: AuditHead): void {
    const known = this.#segments.find(({ segment }) => segment === before.segment);
    if (known === undefined || known.head.sequence < before.sequence) return this.#report('cut', eventId(before));
    if (known.head.sequence === before.sequence && known.head.hash !== before.hash) {
      this.#report('changed', eventId(before));
    }
  }

  #report(kind: AuditLogProblem['kind'], event: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ kind, event });
  }
}
