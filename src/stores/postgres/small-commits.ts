import { inDoubt } from '../../fhir/in-doubt.js';
import { decidesAccess } from '../../store/access-epoch.js';
import type { DeleteWrite, PutWrite, Write } from '../../store/write.js';
import type { Committed } from '../sql/commit-results.js';
import { CallGroups } from './call-groups.js';

type SmallWrite = PutWrite | DeleteWrite;

/** Runs a commit in a transaction of its own. */
type Commit = (writes: readonly Write[], signal: AbortSignal | undefined) => Promise<Committed>;

/** Runs small commits that come at the same time as one. */
export class SmallCommits {
  readonly #commit: Commit;
  readonly #groups: CallGroups<readonly SmallWrite[], Committed>;

  constructor(commit: Commit) {
    this.#commit = commit;
    this.#groups = new CallGroups<readonly SmallWrite[], Committed>({
      alone: commit,
      together: (lists) => this.#together(lists),
      fits: (lists, writes) => fitTogether([...lists.flat(), ...writes]),
      ended: inDoubt,
    });
  }

  run(writes: readonly Write[], signal: AbortSignal | undefined): Promise<Committed> {
    return isSmall(writes) ? this.#groups.run(writes, signal) : this.#commit(writes, signal);
  }

  /** Each resource is written once, so its change belongs to the commit that wrote it. */
  async #together(lists: readonly (readonly SmallWrite[])[]): Promise<readonly Committed[]> {
    const { results, changes } = await this.#commit(lists.flat(), undefined);
    const changeOf = new Map(changes.map((change) => [nameOf(change), change]));
    let start = 0;
    return lists.map((writes) => ({
      results: results.slice(start, (start += writes.length)),
      changes: writes.flatMap((write) => changeOf.get(nameOf(write)) ?? []),
    }));
  }
}

/** What decides about access, holds unique texts or depends on searches has a transaction of its own. */
function isSmall(writes: readonly Write[]): writes is readonly SmallWrite[] {
  return (
    writes.length > 0 &&
    writes.length <= MAX_WRITES &&
    writes.every((write) => {
      if (write.kind !== 'put' && write.kind !== 'delete') return false;
      return !decidesAccess(write) && (write.kind === 'delete' || (write.unique ?? []).length === 0);
    }) &&
    fitTogether(writes as readonly SmallWrite[])
  );
}

/** They are of one project, so that one statement writes them, and none is written twice. */
function fitTogether(writes: readonly SmallWrite[]): boolean {
  const [first] = writes;
  return (
    writes.every(({ key }) => key.project === first!.key.project) && new Set(writes.map(nameOf)).size === writes.length
  );
}

function nameOf({ key: { project, type, id } }: Pick<SmallWrite, 'key'>): string {
  return JSON.stringify([project, type, id]);
}

/** Larger commits are worth a statement of their own. */
const MAX_WRITES = 8;
