import type { GuardedKey, GuardedStore } from '../../access/contract.js';
import { keyText } from '../../fhir/reference.js';
import { decidesAccess } from '../../store/access-epoch.js';
import type { BundleContent, BundleEntry } from '../entries/bundle-entries.js';
import { ownIdOf } from '../entries/identify.js';

/** The Bundles in progress, in order. A Bundle leaves when its result is reported. */
export class Line {
  readonly #places = new Set<PlaceInLine>();
  #onLeave: (() => void) | undefined;

  /** Adds a Bundle at the end. @param size approximate number of its entries */
  enter(size: number): PlaceInLine {
    const place = new PlaceInLine(this, size);
    this.#places.add(place);
    return place;
  }

  leave(place: PlaceInLine): void {
    this.#places.delete(place);
    this.#onLeave?.();
  }

  /** The unfinished Bundles before a place. */
  before(place: PlaceInLine): readonly PlaceInLine[] {
    const all = [...this.#places];
    return all.slice(0, Math.max(0, all.indexOf(place))).filter(({ isOver }) => !isOver);
  }

  /** Settles when there is room for another Bundle in the line. */
  async room(): Promise<void> {
    while (this.#isFull) await new Promise<void>((resolve) => (this.#onLeave = resolve));
  }

  get #isFull(): boolean {
    let entries = 0;
    for (const { size } of this.#places) entries += size;
    return this.#places.size >= (entries > LINE_TUNING.entries ? 2 : LINE_TUNING.bundles);
  }
}

/** Limits on the Bundles in progress. Only tests change them. */
export const LINE_TUNING = {
  /** Maximum number of Bundles in progress. */
  bundles: 4,
  /** If the Bundles in progress have more entries than this together, at most two Bundles run. */
  entries: 1_500,
};

/**
 * A Bundle's place in the line: the Bundle is prepared while earlier Bundles are written.
 *
 * Calls that may depend on an earlier Bundle wait until it has ended: every search, and reads and writes of resources
 * that it names. So the result is the same as importing one Bundle after the other.
 */
export class PlaceInLine {
  readonly #line: Line;
  readonly size: number;
  isOver = false;
  readonly #handedOver = Promise.withResolvers<undefined>();
  readonly #over = Promise.withResolvers<undefined>();
  /** The resources that the Bundle names; undefined: it may concern any resource. */
  #keys: ReadonlySet<string> | undefined;
  #hasSearched = false;

  constructor(line: Line, size: number) {
    this.#line = line;
    this.size = size;
  }

  /** Settles when the next Bundle may begin, usually once this Bundle's commit has begun. */
  get handedOver(): Promise<void> {
    return this.#handedOver.promise;
  }

  /** Settles when the Bundle has succeeded or failed. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  end(): void {
    this.isOver = true;
    this.#over.resolve(undefined);
    this.#handedOver.resolve(undefined);
  }

  /**
   * Leaves the line once the result is reported. Until then the Bundle takes up room, because its result waits in
   * memory for earlier results.
   */
  leave(): void {
    this.#line.leave(this);
  }

  /**
   * The store of the Bundle in this place.
   *
   * @param assignIds POST entries get new ids
   */
  storeFor(store: GuardedStore, content: BundleContent, assignIds: boolean): GuardedStore {
    this.#keys = keysOf(content, assignIds);
    return {
      caller: store.caller,
      model: store.model,
      read: async (keys, options) => {
        await this.#untilIndependent(keys);
        return store.read(keys, options);
      },
      search: async (query, options) => {
        await this.#beforeSearch();
        return store.search(query, options);
      },
      searchByReference: async (query, parameter, targets, options) => {
        await this.#beforeSearch();
        return store.searchByReference(query, parameter, targets, options);
      },
      commit: async (writes, options) => {
        const keys = writes.flatMap((write) => (write.kind === 'assert-no-match' ? [] : [write.key]));
        if (keys.length < writes.length) await this.#untilAlone();
        else await this.#untilIndependent(keys);
        this.#handOver();
        return store.commit(writes, options);
      },
      history: async (key, page, options) => {
        await this.#beforeSearch();
        return store.history(key, page, options);
      },
      typeHistory: async (query, options) => {
        await this.#beforeSearch();
        return store.typeHistory(query, options);
      },
    };
  }

  async #beforeSearch(): Promise<void> {
    this.#hasSearched = true;
    await this.#untilAlone();
  }

  /** Waits until all earlier Bundles have ended. */
  async #untilAlone(): Promise<void> {
    await Promise.all(this.#line.before(this).map(({ over }) => over));
  }

  /**
   * Waits until the earlier Bundles that name one of these resources have ended. Later Bundles that do not depend on
   * them may overtake this one.
   */
  async #untilIndependent(keys: readonly GuardedKey[]): Promise<void> {
    const before = this.#line.before(this);
    if (before.length === 0) return;
    const texts = keys.map(keyText);
    const others = before.filter((one) => one.#keys === undefined || texts.some((text) => one.#keys!.has(text)));
    if (others.length === 0) return;
    // A Bundle searches before it reads, and a search waits for all earlier Bundles, so after a search there is nothing
    // left to wait for.
    this.#handOver();
    await Promise.all(others.map(({ over }) => over));
  }

  /**
   * Lets the next Bundle begin, unless this one has searched: a retry would search again, and could then find the next
   * Bundle's writes.
   */
  #handOver(): void {
    if (this.#keys !== undefined && !this.#hasSearched) this.#handedOver.resolve(undefined);
  }
}

/** The resources that a Bundle names; undefined if it has conditions or reads, or if it may affect access. */
function keysOf({ type, entries }: BundleContent, assignIds: boolean): ReadonlySet<string> | undefined {
  if (type !== 'transaction' || !entries.every(isPlain)) return undefined;
  const keys = new Set<string>();
  for (const entry of entries) {
    const id = entry.request.id ?? (assignIds ? undefined : ownIdOf(entry));
    // Generated ids cannot clash with other Bundles.
    if (id !== undefined) keys.add(keyText({ type: entry.request.type, id }));
  }
  return keys;
}

/** A write of one resource, without a condition. */
function isPlain({ request: { method, type, id }, ifNoneExist }: BundleEntry): boolean {
  const kind = method === 'DELETE' ? 'delete' : 'put';
  if (decidesAccess({ kind, key: { project: '', type, id: '' } })) return false;
  return method === 'POST' ? ifNoneExist === undefined : (method === 'PUT' || method === 'DELETE') && id !== undefined;
}
