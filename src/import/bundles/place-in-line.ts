import type { GuardedKey, GuardedStore } from '../../access/contract.js';
import { keyText } from '../../fhir/reference.js';
import { decidesAccess } from '../../store/access-epoch.js';
import type { BundleContent, BundleEntry } from '../entries/bundle-entries.js';
import { ownIdOf } from '../entries/identify.js';

/** The Bundles of which the result is not reported yet, in order. */
export class Line {
  readonly #places = new Set<PlaceInLine>();
  #onLeave: (() => void) | undefined;

  /** A place at the end. @param size entries of its Bundle, about */
  enter(size: number): PlaceInLine {
    const place = new PlaceInLine(this, size);
    this.#places.add(place);
    return place;
  }

  leave(place: PlaceInLine): void {
    this.#places.delete(place);
    this.#onLeave?.();
  }

  /** The places before one that are not over. */
  before(place: PlaceInLine): readonly PlaceInLine[] {
    const all = [...this.#places];
    return all.slice(0, Math.max(0, all.indexOf(place))).filter(({ isOver }) => !isOver);
  }

  /** Settles when another Bundle may begin beside those under way, if they have handed over. */
  async room(): Promise<void> {
    while (this.#isFull) await new Promise<void>((resolve) => (this.#onLeave = resolve));
  }

  get #isFull(): boolean {
    let entries = 0;
    for (const { size } of this.#places) entries += size;
    return this.#places.size >= (entries > LINE_TUNING.entries ? 2 : LINE_TUNING.bundles);
  }
}

/** How much is under way at a time. Only tests change it. */
export const LINE_TUNING = {
  /** Bundles at most. */
  bundles: 4,
  /** Entries of Bundles beside which only one more begins. */
  entries: 1_500,
};

/**
 * The place of a Bundle in a line of them: it is made ready while those before it are written.
 *
 * Searches wait for the end of those before, and so do reads and writes of the resources that they name: they may depend on them. So
 * the result is that of one after the other.
 */
export class PlaceInLine {
  readonly #line: Line;
  readonly size: number;
  isOver = false;
  readonly #handedOver = Promise.withResolvers<undefined>();
  readonly #over = Promise.withResolvers<undefined>();
  /** The resources it names; undefined: it may concern any. */
  #keys: ReadonlySet<string> | undefined;
  #hasSearched = false;

  constructor(line: Line, size: number) {
    this.#line = line;
    this.size = size;
  }

  /** Its writes are with the store, and the next one may begin. */
  get handedOver(): Promise<void> {
    return this.#handedOver.promise;
  }

  /** It has succeeded or failed. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  end(): void {
    this.isOver = true;
    this.#over.resolve(undefined);
    this.#handedOver.resolve(undefined);
  }

  /** Its result is reported. Until then it keeps its room: results wait for those before them, in memory. */
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

  /** Waits for those before it. */
  async #untilAlone(): Promise<void> {
    await Promise.all(this.#line.before(this).map(({ over }) => over));
  }

  /** Waits for those before it that concern one of these resources, while others that do not may pass it. */
  async #untilIndependent(keys: readonly GuardedKey[]): Promise<void> {
    const before = this.#line.before(this);
    if (before.length === 0) return;
    const texts = keys.map(keyText);
    const others = before.filter((one) => one.#keys === undefined || texts.some((text) => one.#keys!.has(text)));
    if (others.length === 0) return;
    // A Bundle searches before it reads, and a search waits for all those before: after one, nothing is left to wait for.
    this.#handOver();
    await Promise.all(others.map(({ over }) => over));
  }

  /** The next one may begin, unless what this one found would change with it, should this one have to be tried again. */
  #handOver(): void {
    if (this.#keys !== undefined && !this.#hasSearched) this.#handedOver.resolve(undefined);
  }
}

/** The resources that a Bundle names; undefined where it may concern others, read, or decide about access. */
function keysOf({ type, entries }: BundleContent, assignIds: boolean): ReadonlySet<string> | undefined {
  if (type !== 'transaction' || !entries.every(isPlain)) return undefined;
  const keys = new Set<string>();
  for (const entry of entries) {
    const id = entry.request.id ?? (assignIds ? undefined : ownIdOf(entry));
    // A generated id is nobody else's.
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
