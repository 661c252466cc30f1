import { randomSecret } from '../../platform/crypto.js';
import type { ChangePage, ChangesWindow, CommittedChange } from '../../store/changes.js';
import { deepFreeze, versionBefore } from '../../store/versioned.js';
import type { Change } from '../../store/write.js';

/** The commits to a project in their order, as long as the store keeps them. */
export class ProjectFeed {
  /** No other project, of this store or another, has positions that begin with it: not even a later one of the same name. */
  readonly #id = randomSecret();
  #commits: Commit[] = [];
  /** How many commits came before the first of them. */
  #forgotten = 0;

  add(changes: readonly Change[], now: number): void {
    // The clock may go back.
    const at = Math.max(now, this.#commits.at(-1)?.at ?? 0);
    const position = this.#position(this.#last + 1);
    this.#commits.push({
      at,
      changes: deepFreeze(changes.map((change) => ({ ...change, before: versionBefore(change.versionId), position }))),
    });
  }

  /** Forgets the commits before an instant. */
  forget(before: number): void {
    const kept = this.#commits.findIndex(({ at }) => at >= before);
    const count = kept < 0 ? this.#commits.length : kept;
    this.#commits.splice(0, count);
    this.#forgotten += count;
  }

  /** @param isThere whether the version of a change still exists */
  page({ after, types, limit }: ChangesWindow, isThere: (change: Change) => boolean): ChangePage {
    const current = this.#position(this.#last);
    if (after === undefined) return { changes: [], position: current, isReset: false };
    const number = Number(after.slice(this.#id.length + 1));
    if (after !== this.#position(number) || number < this.#forgotten || number > this.#last) {
      return { changes: [], position: current, isReset: true };
    }
    const changes: CommittedChange[] = [];
    let next = number - this.#forgotten;
    for (let count = 0; count < limit && next < this.#commits.length; next++) {
      const commit = this.#commits[next]!;
      count += commit.changes.length;
      changes.push(...commit.changes.filter((one) => types?.has(one.key.type) !== false && isThere(one)));
    }
    return { changes, position: this.#position(this.#forgotten + next), isReset: false };
  }

  get #last(): number {
    return this.#forgotten + this.#commits.length;
  }

  #position(number: number): string {
    return `${this.#id}.${number}`;
  }
}

interface Commit {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly changes: readonly CommittedChange[];
}
