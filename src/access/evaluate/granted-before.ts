import { referenceTo } from '../../fhir/reference.js';
import type { Criteria } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { ReadResult, StoredResource } from '../../store/stored-resource.js';
import type { MemberCaller } from '../caller.js';
import { decide } from '../decide.js';
import { withMemberUsers } from './member-users.js';
import type { AccessRule } from '../rule.js';
import { grantsOf } from './granting-rules.js';

/** A resource to be written, before the write, with the rules that grant that version. */
export interface GrantedBefore {
  readonly row: StoredResource;
  readonly rules: ReadonlySet<AccessRule>;
}

/**
 * Finds the rules that grant the existing resources to be written, before the write, by `Type/id`.
 *
 * The store is queried for every key, whether or not the resource exists. Otherwise timing would reveal the existence
 * of hidden resources.
 *
 * @param found the results of reading the keys, one per key
 * @param memberUsers see {@link withMemberUsers}; undefined if no rule needs them
 */
export async function grantedBefore(
  { store, caller }: { readonly store: ResourceStore; readonly caller: MemberCaller },
  keys: readonly ResourceKey[],
  found: readonly ReadResult[],
  memberUsers: Criteria | undefined,
  options: CallOptions | undefined,
): Promise<ReadonlyMap<string, GrantedBefore>> {
  const granted = new Map<string, GrantedBefore>();
  for (const [type, group] of Map.groupBy(keys.keys(), (index) => keys[index]!.type)) {
    const rules = rulesFor(type, caller);
    const resolved = rules.map((rule) =>
      memberUsers === undefined ? rule : { ...rule, criteria: withMemberUsers(rule.criteria, memberUsers) },
    );
    const rows = group.map((index) => found[index]!).filter((one) => one.status === 'found');
    const original = new Map(resolved.map((rule, index) => [rule, rules[index]!]));
    const ids = [...new Set(group.map((index) => keys[index]!.id))];
    const decided = await grantsOf(store, keys[group[0]!]!.project, type, resolved, rows, options, ids);
    for (const { row, rules: granting } of decided) {
      const own = granting.map((rule) => original.get(rule)!);
      granted.set(referenceTo(type, row.resource.id!), { row, rules: new Set(own) });
    }
  }
  return granted;
}

/** The rules that decide whether a resource exists for a writer. */
function rulesFor(type: string, caller: MemberCaller): readonly AccessRule[] {
  const rules = (['read', 'update', 'delete'] as const).flatMap(
    (interaction) => decide(caller, type, interaction) ?? [],
  );
  return [...new Set(rules)];
}
