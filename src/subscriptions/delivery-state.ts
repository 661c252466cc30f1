import { recordKey, SUBSCRIPTIONS } from '../access/write/subscription-write.js';
import { FhirError } from '../fhir/error.js';
import { type AnyResource, elementsOf } from '../fhir/resource.js';
import { randomId } from '../platform/crypto.js';
import { pause } from '../platform/runtime.js';
import type { ResourceKey } from '../store/resource-key.js';
import type { ResourceStore } from '../store/store.js';
import type { ReadResult } from '../store/stored-resource.js';

/**
 * How far the notifications of a Subscription are. A number is stored before its event is sent, so that a process that ends
 * in between never gives it to another event.
 *
 * ```text
 *       position            commit
 * ── change ─┼─ change ── change ─┼─ change ── …
 *    handled                at: event `number`
 * ```
 *
 * The changes of a commit have the order of their ids. So the ones that are handled are also known if `at` was erased, or the
 * whole commit.
 */
export interface DeliveryState {
  /** The number of the last event; 0 before the first. It never falls. */
  readonly number: number;
  /** All before it is handled. Undefined while the Subscription is off. */
  readonly position?: string | undefined;
  /** The change of the last event, `Observation/o1/_history/3`. It and those before it in its commit are handled. */
  readonly at?: string | undefined;
  /** The position after its commit. */
  readonly commit?: string | undefined;
  /** The last event still has to be sent. */
  readonly isPending?: boolean | undefined;
  /** A hash of the author, of the versions that decide its rights, and of what it could see when it last had handled all changes. */
  readonly rights?: string | undefined;
}

/** The state in a record. A new Subscription has no record, and no events. */
export function stateIn(record: ReadResult | undefined): DeliveryState {
  if (record?.status !== 'found') return { number: 0 };
  const { number, position, at, commit, isPending, rights } = elementsOf(record.resource);
  return { number, position, at, commit, isPending, rights } as DeliveryState;
}

/** The stored state of one Subscription. Only one process can change it: a process with an old version fails. */
export class StoredState {
  readonly #key: ResourceKey;
  #version: string | null;

  constructor(
    private readonly store: ResourceStore,
    of: ResourceKey,
    record: ReadResult | undefined,
    public now: DeliveryState = stateIn(record),
  ) {
    this.#key = recordKey('Parameters', of);
    this.#version = record?.status === 'found' ? record.versionId : null;
  }

  /** @throws FhirError `precondition-failed` - another process has changed it */
  async save(state: DeliveryState): Promise<void> {
    const { type: resourceType, id } = this.#key;
    const resource = { resourceType, id, ...state } as AnyResource;
    const expect = { version: this.#version };
    const [result] = await this.store.commit([{ kind: 'put', key: this.#key, resource, expect }]);
    if (result?.kind === 'put') this.#version = result.versionId;
    this.now = state;
  }
}

/** Times of the lease, in milliseconds. Only tests change them. */
export const LEASE = {
  /** How long a process that says nothing keeps the lease. */
  lasts: 15_000,
  /** The interval at which its process renews it and the others check it. */
  renewed: 5_000,
};

/**
 * The right to deliver, which one process has. The others watch the version of the lease by their own clocks: if it has not
 * changed for as long as a lease lasts, its process is gone.
 */
export class Lease {
  readonly #key: ResourceKey = { project: SUBSCRIPTIONS, type: 'Parameters', id: 'lease' };
  readonly #holder = randomId();
  #version: string | null = null;
  #until = 0;

  constructor(private readonly store: ResourceStore) {}

  /** A process that was paused may find that its lease is over. */
  get isHeld(): boolean {
    return performance.now() < this.#until;
  }

  /** Waits until this process has the lease. @returns false if the signal fired before */
  async take(signal: AbortSignal | undefined): Promise<boolean> {
    let seen: string | null | undefined;
    let since = 0;
    while (signal?.aborted !== true) {
      const [found] = await this.store.read([this.#key]);
      this.#version = found?.status === 'found' ? found.versionId : null;
      if (this.#version !== seen) [seen, since] = [this.#version, performance.now()];
      const isOwn = found?.status === 'found' && elementsOf(found.resource)['holder'] === this.#holder;
      const isFree = seen === null || isOwn || performance.now() - since >= LEASE.lasts;
      if (isFree && (await this.#renew())) return true;
      await pause(LEASE.renewed, signal);
    }
    return false;
  }

  /** Renews the lease until the signal fires or another process has it. */
  async keep(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(LEASE.renewed, signal);
      if (signal.aborted) return;
      const isRenewed = await this.#renew().catch(() => this.isHeld);
      if (!isRenewed) return;
    }
  }

  /** Another process need not wait. */
  async release(): Promise<void> {
    if (!this.isHeld) return;
    this.#until = 0;
    await this.store.commit([{ kind: 'delete', key: this.#key, expect: { version: this.#version } }]);
  }

  /** @returns false if another process has it */
  async #renew(): Promise<boolean> {
    const begun = performance.now();
    const { type: resourceType, id } = this.#key;
    const resource = { resourceType, id, holder: this.#holder } as AnyResource;
    const expect = { version: this.#version };
    try {
      const [result] = await this.store.commit([{ kind: 'put', key: this.#key, resource, expect }]);
      if (result?.kind === 'put') this.#version = result.versionId;
      this.#until = begun + LEASE.lasts;
      return true;
    } catch (error) {
      if (!(error instanceof FhirError) || error.code !== 'precondition-failed') throw error;
      this.#until = 0;
      return false;
    }
  }
}
