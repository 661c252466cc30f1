import type { CompositeCriteria } from '../../../../search/criteria/criteria.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import { narrowWays } from '../../../sql/skip/narrow-components.js';
import { SETS, SEVERAL } from '../../rows/skip-row.js';
import { presenceName, type RowName } from '../read/skip-rows.js';

/** The rows that the set of a composite needs in addition to those of its parts. */
export function namesOfComposite(criteria: CompositeCriteria, scope: RowScope): readonly RowName[] {
  const keyOf = (code: string): number | undefined => parameterKey(scope, code) as number | undefined;
  return narrowWays(criteria, scope.dialect.model, scope.type).flatMap((way = []) =>
    way.flatMap((one) => {
      const [component, plain] = one === undefined ? [] : [keyOf(one.component), keyOf(one.plain)];
      if (component === undefined || plain === undefined) return [];
      return [presenceName(component), { sort: SETS, subject: plain, value: SEVERAL }];
    }),
  );
}
