import type { CallOptions, ReadResult, ResourceKey, ResourceStore, StoredResource } from '../../store/store.js';
import type { MemberCaller } from '../caller.js';
import { decide } from '../decide.js';
import { resolveMemberUsers } from './member-users.js';
import type { AccessRule } from '../rule.js';
import { grantsOf } from './granting-rules.js';

/** A resource that is to be written, as it is before, and the rules that grant that version. */
export interface GrantedBefore {
  readonly row: StoredResource;
  readonly rules: ReadonlySet<AccessRule>;
}

/**
 * Which rules grant what is to be written, as it is before: by `Type/id`, what is found.
 *
 * The store is asked about every key in the same way, whether anything is there or not. Looking only where something is
 * would tell by the time it takes what there is unseen.
 *
 * @param found what reading the keys gave, one result per key
 */
export async function grantedBefore(
  store: ResourceStore,
  caller: MemberCaller,
  keys: readonly ResourceKey[],
  found: readonly ReadResult[],
  options: CallOptions | undefined,
): Promise<ReadonlyMap<string, GrantedBefore>> {
  const granted = new Map<string, GrantedBefore>();
  for (const [type, group] of Map.groupBy(keys.keys(), (index) => keys[index]!.type)) {
    const rules = rulesFor(type, caller);
    const resolved = await Promise.all(
      rules.map(async (rule) => ({
        ...rule,
        criteria: await resolveMemberUsers(store, caller, rule.criteria, options),
      })),
    );
    const rows = group.map((index) => found[index]!).filter((one): one is Found => one.status === 'found');
    const ids = [...new Set(group.map((index) => keys[index]!.id))];
    const decided = await grantsOf(store, keys[group[0]!]!.project, type, resolved, rows, options, ids);
    for (const { row, rules: granting } of decided) {
      const own = granting.map((rule) => rules[resolved.indexOf(rule)]!);
      granted.set(`${type}/${row.resource.id!}`, { row, rules: new Set(own) });
    }
  }
  return granted;
}

type Found = StoredResource & { readonly status: 'found' };

/** Those that may come into question when something is written. */
function rulesFor(type: string, caller: MemberCaller): readonly AccessRule[] {
  const rules = (['read', 'update', 'delete'] as const).flatMap(
    (interaction) => decide(caller, type, interaction) ?? [],
  );
  return [...new Set(rules)];
}
