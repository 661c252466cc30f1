import type { CallOptions, Change, StoreRemoval } from '../../store/store.js';
import type { Connection } from './connection.js';
import type { ResultOf, ThreadCall } from './threads/protocol.js';

/** What the removals of a store need of it. */
export interface RemovalHost {
  readonly connection: Connection;
  /** Runs a call that writes in the event loop if it is short, else in a thread. */
  write<Call extends ThreadCall>(
    call: Call,
    options: CallOptions | undefined,
    inline: () => ResultOf<Call>,
  ): Promise<ResultOf<Call>>;
  publish(changes: readonly Change[]): void;
}

/** `ResourceStore.removal` of a SqliteStore. */
export function storeRemoval({ connection, write, publish }: RemovalHost): StoreRemoval {
  return {
    purgeHistory: (request, options) =>
      write({ kind: 'purge-history', request }, options, () => connection.removal.purgeHistory(request)),
    async removeProject(project, options) {
      const call = { kind: 'remove-project', project } as const;
      const { step, changes } = await write(call, options, () => connection.removal.removeProject(project));
      publish(changes);
      return step;
    },
    async scrub(options) {
      await write({ kind: 'scrub' }, options, () => {
        connection.scrub();
        return null;
      });
    },
  };
}
