import type { ValueTest } from '../../../../search/criteria/value-test.js';
import { targetOf } from '../../../sql/pages/condition.js';
import type { RowScope } from '../../../sql/rows.js';
import { resourceKey, uuidText } from '../../rows/keys.js';
import { valueName } from '../../rows/skip-row.js';

/** The name of the set of the resources that refer to the only target of a test; undefined for other tests. */
export function targetName(test: ValueTest, { project, baseUrl }: RowScope): string | undefined {
  // With a base, absolute references are among the matches too.
  const target = baseUrl === undefined ? targetOf(test) : undefined;
  return target && valueName(uuidText(resourceKey(project, target.type, target.id)));
}
