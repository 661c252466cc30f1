import { inDoubt } from '../../../fhir/error.js';
import { referenceTo } from '../../../fhir/reference.js';
import { decidesAccess } from '../../../store/access-epoch.js';
import type { DeleteWrite, PutWrite, Write, WriteResult } from '../../../store/write.js';
import type { Committed } from '../../sql/commit-results.js';
import { CallGroups } from '../database/call-groups.js';

type SmallWrite = PutWrite | DeleteWrite;

/** Runs a commit in a transaction of its own. */
type Commit = (writes: readonly Write[], signal: AbortSignal | undefined) => Promise<Committed>;

/** Runs small commits that arrive at the same time as one commit. */
export class SmallCommits {
  readonly #groups: CallGroups<readonly SmallWrite[], Committed>;

  constructor(private readonly commit: Commit) {
    this.#groups = new CallGroups<readonly SmallWrite[], Committed>({
      alone: commit,
      together: (lists) => this.#together(lists),
      fitting,
      ended: inDoubt,
    });
  }

  run(writes: readonly Write[], signal: AbortSignal | undefined): Promise<Committed> {
    return isSmall(writes) ? this.#groups.run(writes, signal) : this.commit(writes, signal);
  }

  /** Changes are in the order of the writes. Deleting a missing resource makes no change. */
  async #together(lists: readonly (readonly SmallWrite[])[]): Promise<readonly Committed[]> {
    const done = await this.commit(lists.flat(), undefined);
    let start = 0;
    let changed = 0;
    return lists.map((writes) => {
      const results = done.results.slice(start, (start += writes.length));
      const changes = done.changes.slice(changed, (changed += results.filter(isChange).length));
      return { results, changes };
    });
  }
}

function isChange(result: WriteResult): boolean {
  return result.kind !== 'delete' || result.versionId !== null;
}

/** Writes that decide about access, hold unique texts or depend on searches have a transaction of their own. */
function isSmall(writes: readonly Write[]): writes is readonly SmallWrite[] {
  return (
    writes.length > 0 &&
    writes.length <= MAX_WRITES &&
    writes.every((write) => {
      if (write.kind !== 'put' && write.kind !== 'delete') return false;
      return !decidesAccess(write) && (write.kind === 'delete' || (write.unique ?? []).length === 0);
    }) &&
    areOfOneCommit(writes as readonly SmallWrite[])
  );
}

function areOfOneCommit(writes: readonly SmallWrite[]): boolean {
  const fits = fitting();
  return writes.every((write) => fits([write]));
}

/** Commits that fit together are of one project, so that one statement writes them, and write no resource twice. */
function fitting(): (writes: readonly SmallWrite[]) => boolean {
  let project: string | undefined;
  const written = new Set<string>();
  return (writes) => {
    const [{ key }] = writes as readonly [SmallWrite];
    const names = writes.map(({ key: { type, id } }) => referenceTo(type, id));
    if (key.project !== (project ??= key.project) || names.some((name) => written.has(name))) return false;
    for (const name of names) written.add(name);
    return true;
  };
}

/** Larger commits are worth a statement of their own. */
const MAX_WRITES = 8;
