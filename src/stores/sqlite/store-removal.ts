import type { CallOptions } from '../../store/call-options.js';
import type { StoreRemoval } from '../../store/removal.js';
import type { CallRunner } from './call-runner.js';
import type { Connection } from './connection.js';
import type { WorkArguments, WorkName, WorkResult } from './threads/work.js';

/** The parts of a store that its removals need. */
interface RemovalHost {
  readonly connection: Connection;
  readonly calls: CallRunner;
  /** Settles when the file has all its indexes. */
  ready(options: CallOptions | undefined): Promise<void> | undefined;
  notify(projects: Iterable<string>): void;
  /** Called after content was removed. */
  removed(): void;
}

/** `ResourceStore.removal` of a SqliteStore. */
export function storeRemoval({ connection, calls, ready, notify, removed }: RemovalHost): StoreRemoval {
  const write = async <Name extends WorkName>(
    name: Name,
    args: WorkArguments<Name>,
    options: CallOptions | undefined,
  ): Promise<WorkResult<Name>> => {
    const result = await calls.call(name, args, options);
    calls.run(undefined, () => connection.status.noteRemovals());
    removed();
    return result;
  };
  return {
    purgeHistory: (request, options) => write('purge-history', [request], options),
    async removeProject(project, options) {
      await ready(options);
      const step = await write('remove-project', [project], options);
      notify([project]);
      return step;
    },
    scrub: (options) => write('scrub', [], options),
  };
}
