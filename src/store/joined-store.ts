import { FhirError } from '../fhir/error.js';
import type { ResourceStore } from './store.js';
import { viewOf } from './store-view.js';
import type { Write } from './write.js';

/**
 * A view of a store inside a transaction of the host. All that is read and written through it belongs to that
 * transaction: it takes effect when the host commits, and leaves nothing when the host rolls back. Repositories,
 * mutations and invitations over it join too, under the same access rules.
 *
 * Use it within the transaction, and no longer.
 */
export interface JoinedStore extends ResourceStore {
  /**
   * Says that the host has committed, so that watchers of this process hear of it at once. Do not call it after a
   * rollback.
   */
  committed(): void;
}

/**
 * Makes the view. It removes nothing for good: the remains of removed content outlive a transaction.
 *
 * @param store answers within the host's transaction
 * @param commit commits within it, and keeps its changes
 * @param committed publishes the changes
 */
export function joinedStore(store: ResourceStore, commit: ResourceStore['commit'], committed: () => void): JoinedStore {
  const view = viewOf(store, {
    removal: undefined,
    async commit(writes, options) {
      assertNoErasure(writes);
      return commit(writes, options);
    },
    // The store outlives the transaction.
    close: () => Promise.resolve(),
  });
  return Object.assign(view, { committed });
}

function assertNoErasure(writes: readonly Write[]): void {
  if (writes.every(({ kind }) => kind !== 'erase')) return;
  throw new FhirError('unsupported', "Nothing is erased within the host's transaction");
}
