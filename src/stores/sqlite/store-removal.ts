import type { CallOptions } from '../../store/call-options.js';
import type { StoreRemoval } from '../../store/removal.js';
import type { Change } from '../../store/write.js';
import type { CallRunner } from './call-runner.js';
import type { Connection } from './connection.js';
import type { ResultOf, ThreadCall } from './threads/protocol.js';

/** The parts of a store that its removals need. */
export interface RemovalHost {
  readonly connection: Connection;
  readonly calls: CallRunner;
  /** Settles when the file has all its indexes. */
  ready(options: CallOptions | undefined): Promise<void> | undefined;
  publish(changes: readonly Change[]): void;
  /** Called after content was removed. */
  removed(): void;
}

/** `ResourceStore.removal` of a SqliteStore. */
export function storeRemoval({ connection, calls, ready, publish, removed }: RemovalHost): StoreRemoval {
  const write = async <Call extends ThreadCall>(
    call: Call,
    options: CallOptions | undefined,
    inline: () => ResultOf<Call>,
  ): Promise<ResultOf<Call>> => {
    const result = await calls.write(call, options, inline);
    calls.run(undefined, () => connection.status.noteRemovals());
    removed();
    return result;
  };
  return {
    purgeHistory: (request, options) =>
      write({ kind: 'purge-history', request }, options, () => connection.removal.purgeHistory(request)),
    async removeProject(project, options) {
      await ready(options);
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
