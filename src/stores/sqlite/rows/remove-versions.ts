import type { Statements } from '../database/statements.js';

/** Removes versions of a resource, from the oldest one up to `last`, and their places in the history of the type. */
export function removeVersions(
  statements: Statements,
  { collection, owner }: { readonly collection: number; readonly owner: number },
  last: number,
): void {
  statements.write(REMOVE_PAST).run(collection, owner, last);
  statements.write('DELETE FROM version WHERE resource = ? AND version <= ?').run(owner, last);
}

const REMOVE_PAST = `DELETE FROM past WHERE (collection, updated, version) IN
  (SELECT ?, v.updated, v.key FROM version v WHERE v.resource = ? AND v.version <= ?)`;
