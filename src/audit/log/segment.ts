import type { AuditEvent } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { randomId } from '../../platform/node-crypto.js';
import { ALL } from '../../search/criteria/criteria.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import { AUDIT_LOG_PROJECT } from './audit-project.js';
import { type AuditHead, chained, GENESIS, instantAfter, linkOf, segmentName } from './chain.js';
import { afterDetail, logEvent } from './log-events.js';

/** Events with their places in the chain, and the head after them. */
export interface LinkedEvents {
  readonly events: readonly AuditEvent[];
  /** Their JSON. */
  readonly texts: readonly string[];
  readonly head: AuditHead;
}

/** The part of the log that one process writes. */
export class Segment {
  private constructor(
    private readonly name: string,
    private last: Pick<AuditHead, 'sequence' | 'hash'> = { sequence: -1, hash: GENESIS },
  ) {}

  /** The newest event. */
  get head(): AuditHead {
    return { segment: this.name, ...this.last };
  }

  /** Begins a segment. Its first event names the newest one before it, so that a segment cannot vanish as a whole. */
  static async open(store: ResourceStore, now: Date, write: (linked: LinkedEvents) => Promise<void>): Promise<Segment> {
    await makeProject(store);
    const { matches } = await store.search({
      project: AUDIT_LOG_PROJECT,
      type: 'AuditEvent',
      criteria: ALL,
      sort: [{ parameter: '_id', descending: true }],
      limit: 1,
    });
    const newest = matches[0] === undefined ? undefined : linkOf(matches[0].resource as unknown as AuditEvent);
    const segment = new Segment(segmentName(instantAfter(now, newest?.segment), randomId()));
    const opening = segment.link([logEvent('segment-opened', now, afterDetail(newest))]);
    await write(opening);
    segment.advance(opening);
    return segment;
  }

  /** Chains events to the newest one. They count from {@link advance} on. */
  link(events: readonly AuditEvent[]): LinkedEvents {
    let { sequence, hash } = this.last;
    const linked = events.map((event) => {
      sequence += 1;
      const one = chained(event, { segment: this.name, sequence, previous: hash });
      hash = one.hash;
      return one;
    });
    return {
      events: linked.map(({ event }) => event),
      texts: linked.map(({ text }) => text),
      head: { segment: this.name, sequence, hash },
    };
  }

  advance({ head: { sequence, hash } }: LinkedEvents): void {
    this.last = { sequence, hash };
  }
}

async function makeProject(store: ResourceStore): Promise<void> {
  const key = { project: SERVER_SCOPE, type: 'Project', id: AUDIT_LOG_PROJECT };
  const [found] = await store.read([key]);
  if (found?.status === 'found') return;
  const resource = { resourceType: 'Project', id: key.id, name: 'Audit log', active: true, strictMode: true };
  try {
    await store.commit([{ kind: 'put', key, resource, expect: { version: null } }]);
  } catch (error) {
    // Another process committed first.
    if (!(error instanceof FhirError) || error.code !== 'precondition-failed') throw error;
  }
}
