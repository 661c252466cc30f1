import type { CallOptions, ReadResult, ResourceKey, ResourceStore, StoredResource } from '../store/store.js';
import type { MemberCaller } from './caller.js';
import { decide } from './decide.js';
import { resolveMemberUsers } from './member-users.js';
import type { AccessRule } from './policy/rule.js';
import { grantsOf } from './visible-rows.js';

/**
 * Which rules grant what is to be written, as it is before: by `Type/id`.
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
): Promise<ReadonlyMap<string, ReadonlySet<AccessRule>>> {
  const granted = new Map<string, ReadonlySet<AccessRule>>();
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
    const grants = await grantsOf(store, keys[group[0]!]!.project, type, resolved, rows, options, ids);
    rows.forEach(({ resource }, index) => {
      const own = grants[index]!.map((rule) => rules[resolved.indexOf(rule)]!);
      granted.set(`${type}/${resource.id!}`, new Set(own));
    });
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
