import { referenceTo } from '../../../fhir/reference.js';
import type { CallOptions } from '../../../store/call-options.js';
import { CallPace } from '../../../store/call-pace.js';
import { readInParts } from '../../../store/read-in-parts.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { ResourceStore } from '../../../store/store.js';
import { type ServerCaller, type SystemCaller, homeOf } from '../../caller.js';
import type { GuardedWrite } from '../../contract.js';
import { decide } from '../../decide.js';
import { loadMemberUsers, mentionsMemberUsers } from '../../evaluate/member-users.js';
import type { TrustedState } from './decide-trusted.js';
import { restsOnStored } from './what-stays.js';

/** Loads what writes of trusted code are decided on: for most of them nothing. */
export async function loadTrusted(
  store: ResourceStore,
  caller: SystemCaller | ServerCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<Pick<TrustedState, 'stored' | 'memberUsers'>> {
  const keys = new Map<string, ResourceKey>();
  const written = new Set<string>();
  const pace = new CallPace(options);
  for (const write of writes) {
    if (pace.isSpent) await pace.next();
    if (write.kind === 'assert-no-match') continue;
    const { type, id } = write.key;
    const name = referenceTo(type, id);
    const needed = write.kind === 'put' ? restsOnStored(caller, write) : !written.has(name) && looksFirst(write);
    if (needed) keys.set(name, { ...write.key, project: homeOf(type, caller) });
    written.add(name);
  }
  const found = await readInParts([...keys.values()], options, (part) => store.read(part, options));
  const stored = new Map(Array.from(keys.keys(), (name, index) => [name, found[index]!]));
  const asksForUsers = writes.some(
    (write) =>
      write.kind === 'assert-no-match' &&
      decide(caller, write.query.type, 'search')?.some(({ criteria }) => mentionsMemberUsers(criteria)),
  );
  return { stored, memberUsers: asksForUsers ? await loadMemberUsers(store, caller, options) : undefined };
}

/** The links of a removed membership are recorded, so it is read first. */
function looksFirst({ key, mustExist, expect }: GuardedWrite & { kind: 'delete' }): boolean {
  return key.type === 'ProjectMembership' || (mustExist === true && expect === undefined);
}
