import type { CompositeCriteria, Criteria } from '../../../search/criteria/criteria.js';
import { parameterKey, type RowScope } from '../rows.js';
import type { SqlValue } from '../sql.js';
import { type CompositeParts, waysOfComposite } from './composite-parts.js';
import { type ConditionSet, intersection, sureOf, union } from './condition-set.js';
import type { KeySet } from './key-set.js';
import { type NarrowComponent, narrowWays } from './narrow-components.js';

/**
 * The resources with a value of a parameter or narrow component, by its key, or with several. Undefined if they are not known: small
 * types have no such sets.
 */
export interface PresenceSets {
  emptySet(): KeySet;
  present(key: SqlValue): KeySet | undefined;
  several(key: SqlValue): KeySet | undefined;
}

/**
 * The set of a composite, by those of its parts.
 *
 * If the resource itself is the only group, each resource that meets all parts is a match, apart from those with other values of
 * a plain parameter. Of a composite of components even a resource that surely meets each part may do so with values of several
 * groups.
 *
 * @param setOf the set of a part
 * @param ways those of waysOfComposite, if they are known
 */
export function setOfComposite(
  criteria: CompositeCriteria,
  scope: RowScope,
  presence: PresenceSets,
  setOf: (part: Criteria) => ConditionSet | undefined,
  ways: readonly CompositeParts[] = waysOfComposite(criteria, scope.dialect.model, scope.type),
): ConditionSet | undefined {
  const narrow = narrowWays(criteria.parameter, scope.dialect.model, scope.type);
  return union(
    ways.map((parts, way) => {
      const sets = parts.map((part, place) => part && narrowed(setOf(part), narrow[way]?.[place], scope, presence));
      const found = intersection(sets);
      return narrow[way] === undefined ? found && { set: found.set, exact: false } : found;
    }),
  );
}

/** Without what has other values of a plain parameter. It is unknown by which of several values a resource passes. */
function narrowed(
  found: ConditionSet | undefined,
  narrow: NarrowComponent | undefined,
  scope: RowScope,
  presence: PresenceSets,
): ConditionSet | undefined {
  if (found === undefined || narrow === undefined) return found;
  const [component, plain] = [narrow.component, narrow.plain].map((code) => parameterKey(scope, code));
  // A component without a key has never had a value.
  if (component === undefined) return { set: presence.emptySet(), exact: true };
  const [present, several] = [presence.present(component), plain === undefined ? undefined : presence.several(plain)];
  if (present === undefined || several === undefined) return { set: found.set, exact: false };
  const set = found.set.copy().intersect(present);
  const sure = sureOf(found)?.copy().intersect(present).subtract(several);
  return found.exact && sure!.count === set.count ? { set, exact: true } : { set, exact: false, sure };
}
