import type { GuardedKey, GuardedStore } from '../../access/contract.js';
import { keyText } from '../../fhir/reference.js';
import { decidesAccess } from '../../store/access-epoch.js';
import type { BundleContent, BundleEntry } from '../entries/bundle-entries.js';
import { ownIdOf } from '../entries/identify.js';

/**
 * The place of a Bundle in a line of them: it is made ready while the one before is written.
 *
 * Searches wait for the end of the one before, and so do reads and writes of the resources that it names: they may depend on it. So the
 * result is that of one after the other.
 */
export class PlaceInLine {
  /** Forgotten when this one is over, so that a long line takes no more memory than a short one. */
  #before: PlaceInLine | undefined;
  readonly #handedOver = Promise.withResolvers<undefined>();
  readonly #over = Promise.withResolvers<undefined>();
  #isOver = false;
  /** The resources it names; undefined: it may concern any. */
  #keys: ReadonlySet<string> | undefined;
  #hasSearched = false;

  /** @param before undefined: nothing is under way */
  constructor(before: PlaceInLine | undefined) {
    this.#before = before;
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
    this.#isOver = true;
    this.#before = undefined;
    this.#over.resolve(undefined);
    this.#handedOver.resolve(undefined);
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
        if (this.#depends(keys)) await this.#before?.over;
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
        if (keys.length < writes.length || this.#depends(keys)) await this.#before?.over;
        // What it found would change with the next one, should it have to be tried again.
        if (this.#keys !== undefined && !this.#hasSearched) this.#handedOver.resolve(undefined);
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
    await this.#before?.over;
  }

  #depends(keys: readonly GuardedKey[]): boolean {
    const before = this.#before;
    if (before === undefined || before.#isOver) return false;
    const named = before.#keys;
    return named === undefined || keys.some((key) => named.has(keyText(key)));
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
