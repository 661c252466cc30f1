import type { AccessTrace } from '../access/access-trace.js';
import type { Caller } from '../access/caller.js';
import { failedIndex, type GuardedKey, type GuardedWrite } from '../access/contract.js';
import { guardStore } from '../access/guarded-store.js';
import type { CallLimits } from '../access/limits/call-limits.js';
import type { InCall } from '../access/operation.js';
import type { AuditOptions } from '../audit/audit.js';
import { FhirError } from '../fhir/error.js';
import type { AnyResource } from '../fhir/resource.js';
import type { GuardedSession } from '../interactions/interaction-session.js';
import { oncePer } from '../platform/collections.js';
import { isConflict } from '../store/with-retries.js';
import { type ResourceStore, serviceBaseUrl } from '../store/store.js';
import type { ReadResult } from '../store/stored-resource.js';

/** The session of one import: the store as the caller sees it, and the options of every call. */
export interface ImportSession extends GuardedSession {
  /** Of links and of `request.url`, without a slash at its end. */
  readonly baseUrl: string | undefined;
  /** POST entries always get new ids. */
  readonly assignIds: boolean;
  /** Resources that GET entries read have `meta.project` and `meta.author`. */
  readonly extendedMeta: boolean;
  /** Default: searches without includes, and no histories. */
  readonly reader: EntryReader | undefined;
  /** Undefined for members: their writes depend on stored resources. */
  readonly guess: CreateGuess | undefined;
}

/**
 * @throws FhirError `unauthenticated` - the context has no caller
 * @throws FhirError `invalid` - the base URL is not that of the store
 */
export function openSession(context: InCall<ImportContext>, trace?: AccessTrace, reader?: EntryReader): ImportSession {
  return {
    store: guardStore(context.store, context.caller, { trace, profiles: context.profiles }),
    options: context.call,
    baseUrl: serviceBaseUrl(context),
    trace,
    assignIds: context.ids === 'assigned',
    extendedMeta: context.extendedMeta === true,
    reader,
    guess: context.caller?.kind === 'member' ? undefined : createGuessOf(context.store),
  };
}

/** The context of every import. */
export interface ImportContext extends AuditOptions {
  readonly store: ResourceStore;
  /** The caller; resources are imported into its project. */
  readonly caller: Caller;
  /**
   * Profiles that written resources must conform to, in addition to those that the project requires: `true` for those
   * in their `meta.profile`, or a list of canonical URLs, each for the resources of its type. Writes that do not
   * conform are `unprocessable`. Default: those of the project only.
   */
  readonly profiles?: true | readonly string[] | undefined;
  /** Ends the import early with `aborted`; earlier commits stay. */
  readonly signal?: AbortSignal | undefined;
  /** The limits of a Bundle, and of each batch of an NDJSON import. */
  readonly limits?: CallLimits | undefined;
  /**
   * The base URL that `request.url` of an entry may begin with. It must be that of the store, if the store has one.
   * Default: that of the store.
   */
  readonly baseUrl?: string | undefined;
  /**
   * The ids of POSTed resources. `kept`: their own, so that importing twice changes nothing the second time.
   * `assigned`: new ids, as a FHIR server assigns them to created resources. Default `kept`.
   */
  readonly ids?: 'kept' | 'assigned' | undefined;
  /**
   * Add Medplum's `meta.project` and `meta.author`, which R4 does not define, to resources that GET entries of a Bundle
   * read. Default false.
   */
  readonly extendedMeta?: boolean | undefined;
}

/** Reads that need more than the store; the repository layer implements them. */
export interface EntryReader {
  search(type: string, query: string, session: ImportSession): Promise<AnyResource>;
  /** @param id undefined for the history of the type */
  history(type: string, id: string | undefined, query: string, session: ImportSession): Promise<AnyResource>;
  /** Reduces a resource as `_elements` and `_summary` require. */
  reduce(resource: AnyResource, query: string, session: GuardedSession): AnyResource;
}

/**
 * Guesses which resources of an import are new: it expects a type's next resources to be new if its last ones all were.
 *
 * PERF (import-rate): a resource that is expected to be new is created without a read. A wrong guess costs a failed commit, so after
 * one, a type needs four times as many new resources in a row, as with the Organizations that many Bundles share.
 */
class CreateGuess {
  readonly #types = new Map<string, { newInARow: number; needed: number }>();

  /** True if the next resources of a type are expected to be new. */
  expectsNew(type: string): boolean {
    const known = this.#types.get(type);
    return known !== undefined && known.newInARow >= known.needed;
  }

  /** Learns from the stored versions of resources that are to be written. */
  learn(keys: readonly GuardedKey[], stored: readonly ReadResult[]): void {
    for (const [index, { type }] of keys.entries()) {
      if (stored[index]!.status === 'missing') this.#of(type).newInARow += 1;
      else this.#refute(type);
    }
  }

  /** Learns from the error of a commit that relied on it. */
  learnFailure(error: unknown, writes: readonly GuardedWrite[]): void {
    if (!isConflict(error)) return;
    const failed = writes[failedIndex(error) ?? -1];
    for (const write of failed === undefined ? writes : [failed]) {
      if (write.kind === 'put') this.#refute(write.key.type);
    }
  }

  #refute(type: string): void {
    const known = this.#of(type);
    known.newInARow = 0;
    known.needed *= MORE_AFTER_ERROR;
  }

  #of(type: string): { newInARow: number; needed: number } {
    let known = this.#types.get(type);
    if (known === undefined) this.#types.set(type, (known = { newInARow: 0, needed: GUESS_TUNING.newInARow }));
    return known;
  }
}

const MORE_AFTER_ERROR = 4;

/** Only tests change it. */
export const GUESS_TUNING = {
  /** After this many new resources of a type in a row, the next ones are expected to be new. */
  newInARow: 100,
};

/** The guess of a store, shared by successive imports into it. */
const createGuessOf = oncePer((_store: ResourceStore) => new CreateGuess());

/**
 * The items of a source of the host. Ends early when the signal aborts, even while waiting for the source; the source is always
 * closed.
 *
 * @throws FhirError `aborted`
 */
export async function* abortable<Item>(
  items: AsyncIterator<Item> | Iterator<Item>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Item, void> {
  let interrupt: ((reason: FhirError) => void) | undefined;
  const abortion = (): FhirError => new FhirError('aborted', 'The import was aborted', { cause: signal?.reason });
  const onAbort = (): void => interrupt?.(abortion());
  signal?.addEventListener('abort', onAbort);
  let finished = false;
  try {
    for (;;) {
      if (signal?.aborted === true) throw abortion();
      // A new promise per item: racing a long-lived promise would retain all items.
      const { done, value } = await new Promise<IteratorResult<Item>>((resolve, reject) => {
        interrupt = reject;
        Promise.resolve(items.next()).then(resolve, reject);
      });
      if (done === true) break;
      yield value;
    }
    finished = true;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    // Not awaited: a source that hangs in `next` would never settle.
    if (!finished) void Promise.resolve(items.return?.()).catch(() => undefined);
  }
}
