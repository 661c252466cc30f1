import type { GuardedSession } from '../interactions/interaction-session.js';
import type { AccessTrace } from '../access/access-trace.js';
import { guardStore } from '../access/guarded-store.js';
import type { EntryReader } from './entry-reader.js';
import type { ImportContext } from './import-context.js';
import { type CreateGuess, createGuessOf } from './create-guess.js';

/** The session of one import: the store as the caller sees it, and the options of every call. */
export interface ImportSession extends GuardedSession {
  /** POST entries always get new ids. */
  readonly assignIds: boolean;
  /** Resources that GET entries read have `meta.project` and `meta.author`. */
  readonly extendedMeta: boolean;
  /** Default: searches without includes, and no histories. */
  readonly reader: EntryReader | undefined;
  /** Undefined for members: their writes depend on stored resources. */
  readonly guess: CreateGuess | undefined;
}

/** @throws FhirError `unauthenticated` - the context has no caller */
export function openSession(context: ImportContext, trace?: AccessTrace, reader?: EntryReader): ImportSession {
  return {
    store: guardStore(context.store, context.caller, context.baseUrl, trace, context.profiles),
    options: { signal: context.signal },
    baseUrl: context.baseUrl,
    trace,
    assignIds: context.ids === 'assigned',
    extendedMeta: context.extendedMeta === true,
    reader,
    guess: context.caller?.kind === 'member' ? undefined : createGuessOf(context.store),
  };
}
