import { referenceTo } from '../../../fhir/reference.js';
import type { CallOptions } from '../../../store/call-options.js';
import { readInParts } from '../../../store/read-in-parts.js';
import type { ResourceStore } from '../../../store/store.js';
import { baseUrlOf } from '../../../store/with-base-url.js';
import { type MemberCaller, homeOf } from '../../caller.js';
import type { GuardedWrite } from '../../contract.js';
import { grantedBefore } from '../../evaluate/granting-rules.js';
import { loadMemberUsers, mentionsMemberUsers } from '../../evaluate/member-users.js';
import type { StoredState } from './commit-state.js';

/**
 * Loads what the writes of a member are decided on.
 *
 * PERF: nothing is stored under a generated id, so it is not read. The commit still fails if that is wrong: it expects no version.
 */
export async function loadStored(
  store: ResourceStore,
  caller: MemberCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<StoredState> {
  const keys = writes.flatMap((write) =>
    write.kind === 'assert-no-match' || isOfGeneratedId(write)
      ? []
      : [{ ...write.key, project: homeOf(write.key.type, caller) }],
  );
  const found = await readInParts(keys, options, (part) => store.read(part, options));
  const deleted = new Set(
    keys.flatMap(({ type, id }, index) => (found[index]!.status === 'gone' ? [referenceTo(type, id)] : [])),
  );
  const types = new Set(writes.map((write) => (write.kind === 'assert-no-match' ? write.query.type : write.key.type)));
  const memberUsers = [...types].some((type) => needsMemberUsers(caller, type))
    ? await loadMemberUsers(store, caller, options)
    : undefined;
  const granted = await grantedBefore({ store, caller }, keys, found, memberUsers, options);
  return { deleted, granted, memberUsers, now: Date.now(), baseUrl: baseUrlOf(store) };
}

function isOfGeneratedId(write: GuardedWrite): boolean {
  return write.kind === 'put' && write.generatedId === true;
}

function needsMemberUsers({ rules }: MemberCaller, type: string): boolean {
  return rules.rulesFor(type).some(({ criteria }) => mentionsMemberUsers(criteria));
}
