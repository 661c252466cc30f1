import { recordedAuthor, recordedKey, recordKey, SUBSCRIPTIONS } from '../access/write/subscription-write.js';
import { maskError } from '../fhir/error.js';
import { endOf } from '../live/live-feed.js';
import { getOrCreate } from '../platform/collections.js';
import { eitherSignal, pause, warn } from '../platform/runtime.js';
import { ALL } from '../search/criteria/criteria.js';
import { everyMatch } from '../store/every-page.js';
import { Lease } from './delivery-state.js';
import { type DeliverSubscriptionsOptions, type DeliverySettings, settingsOf } from './delivery-settings.js';
import { ServedSubscription } from './served-subscription.js';
import { TypeFeed } from './type-feed.js';

/**
 * Delivers the notifications of FHIR Subscriptions with the channel `rest-hook`, in all projects of the store.
 *
 * It activates Subscriptions that are `requested`, or sets `error` with the reason. Each acts with the rights of the member
 * who wrote it last, as they are at the moment of sending. The library opens no socket: `deliver` sends. Each event has a
 * number of its own and is sent at least once, in order; one that hangs delays no other Subscription. Any number of
 * processes may call the function for a database: one of them delivers, and another continues if it ends.
 *
 * @returns a promise that resolves after the signal has fired, or the store was closed
 * @throws FhirError `invalid` - an option
 * @throws FhirError `unsupported` - the store does not list its changes
 *
 * @example
 * await deliverSubscriptions({
 *   store,
 *   signal,
 *   async deliver({ endpoint, header, bundle }, { signal }) {
 *     const answer = await postToAllowedHost(endpoint, header, bundle, signal);
 *     if (!answer.ok) throw new Error(`status ${answer.status}`);
 *   },
 * });
 */
export async function deliverSubscriptions(options: DeliverSubscriptionsOptions): Promise<void> {
  const settings = settingsOf(options);
  const { store, signal } = settings;
  const lease = new Lease(store);
  while (signal?.aborted !== true) {
    try {
      if (await lease.take(signal)) await new Deliveries(settings, lease).run();
    } catch (error) {
      if (endOf(error) === undefined) return;
      await afterFailure(error, signal);
    }
  }
}

/** The deliveries of this process while it has the lease. */
class Deliveries {
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  readonly #feeds = new Map<string, TypeFeed>();
  /** By the id of their records. */
  readonly #served = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>();
  #purged = performance.now();

  constructor(
    private readonly settings: DeliverySettings,
    private readonly lease: Lease,
  ) {
    this.#signal = eitherSignal(this.#over.signal, settings.signal);
  }

  /** Delivers until the signal fires or the lease is lost. */
  async run(): Promise<void> {
    const keeping = this.lease.keep(this.#signal).then(() => this.#over.abort());
    const poll = setInterval(() => {
      for (const feed of this.#feeds.values()) feed.tell();
    }, POLL_MS);
    try {
      await this.#follow();
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      this.#over.abort();
      clearInterval(poll);
      await Promise.all([keeping, ...[...this.#served.values()].map(({ done }) => done)]);
      for (const feed of this.#feeds.values()) feed.close();
      await this.lease.release().catch(() => undefined);
    }
  }

  /** Serves all Subscriptions, and again those that somebody writes. */
  async #follow(): Promise<void> {
    const feed = this.#feed(SUBSCRIPTIONS, 'Basic');
    let position = await feed.now();
    await this.#serveAll();
    while (!this.#signal.aborted) {
      const page = await feed.page(position);
      if (page.isReset) await this.#serveAll();
      for (const { key } of page.changes) this.#serve(key.id);
      const isLast = page.position === position;
      position = isLast ? await feed.wait(ALL_RECORDS, page, PURGE_MS, this.#signal) : page.position;
      await this.#purge();
    }
  }

  async #serveAll(): Promise<void> {
    const query = { project: SUBSCRIPTIONS, type: 'Basic', criteria: ALL };
    const { store } = this.settings;
    for await (const { resource } of everyMatch(200, (page, budget) =>
      store.search({ ...query, ...page }, { budget }),
    )) {
      this.#serve(resource.id!);
    }
  }

  /** @param id of the record */
  #serve(id: string): void {
    const before = this.#served.get(id);
    before?.stop.abort();
    const stop = new AbortController();
    const done = (async () => {
      await before?.done;
      await this.#retrying(id, eitherSignal(stop.signal, this.#signal));
      if (this.#served.get(id)?.stop === stop) this.#served.delete(id);
    })();
    this.#served.set(id, { stop, done });
  }

  /** Serves one Subscription until the signal fires or it is not active any more. Never rejects. */
  async #retrying(id: string, signal: AbortSignal): Promise<void> {
    const { store } = this.settings;
    while (!signal.aborted) {
      try {
        const recorded = { project: SUBSCRIPTIONS, type: 'Basic', id };
        const [record] = await store.read([recorded]);
        if (record?.status !== 'found') return;
        const key = recordedKey(record.resource);
        const [found, state, again] = await store.read([key, { ...recorded, type: 'Parameters' }, recorded]);
        // Another author must not get what this one may see.
        if (again?.status !== 'found' || again.versionId !== record.versionId) continue;
        if (found?.status === 'found') {
          const tools = { settings: this.settings, lease: this.lease, feed: this.#feed.bind(this) };
          const author = recordedAuthor(record.resource);
          await new ServedSubscription(tools, { key, author, found, state }, signal).run();
        } else {
          await store.commit([
            { kind: 'delete', key: recordKey('Basic', key), expect: { version: record.versionId } },
            { kind: 'delete', key: recordKey('Parameters', key) },
          ]);
        }
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!this.lease.isHeld || endOf(error) === undefined) return this.#over.abort();
        await afterFailure(error, signal);
      }
    }
  }

  #feed(project: string, type: string): TypeFeed {
    return getOrCreate(this.#feeds, `${project} ${type}`, () => new TypeFeed(this.settings.store, project, type));
  }

  /** Removes earlier versions of the records, each of which is of no use to anybody. */
  async #purge(): Promise<void> {
    const { removal } = this.settings.store;
    if (removal === undefined || performance.now() - this.#purged < PURGE_MS) return;
    this.#purged = performance.now();
    const request = { project: SUBSCRIPTIONS, replacedBefore: new Date().toISOString(), keep: 1 };
    for (let after: string | undefined; ;) {
      ({ next: after } = await removal.purgeHistory({ ...request, after }));
      if (after === undefined) return;
    }
  }
}

/** Waits before work that failed is done again. Nothing of an error that may hold anything is shown. */
async function afterFailure(error: unknown, signal: AbortSignal | undefined): Promise<void> {
  const { code, message } = maskError(error);
  if (code === 'internal' || code === 'corrupt') warn(message, 'FHIRGRAPH_SUBSCRIPTIONS');
  await pause(RETRY_MS, signal);
}

/** The interval at which the feeds are read if the store reports no change, in milliseconds. */
const POLL_MS = 1_000;

/** After a failure of the store that may pass, in milliseconds. */
const RETRY_MS = 1_000;

const PURGE_MS = 3_600_000;

const ALL_RECORDS = { type: 'Basic', criteria: ALL } as const;
