import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { and, type Criteria, not, or } from '../../search/criteria/criteria.js';
import { parseParameter } from '../../search/parse/parse-parameter.js';

/**
 * The status of a membership at a moment, exactly one of these:
 *
 * | status | membership |
 * |---|---|
 * | `inactive` | switched off |
 * | `expired` | its access has ended, or its invitation was not accepted in time |
 * | `invited` | its invitation is open |
 * | `active` | all others |
 */
const STATUSES: { readonly [status: string]: (facts: Facts) => Criteria } = {
  inactive: ({ inactive }) => inactive,
  expired: ({ inactive, ended, overdue }) => and([not(inactive), or([ended, overdue])]),
  invited: ({ inactive, ended, overdue, asked }) => and([not(inactive), not(ended), not(overdue), asked]),
  active: ({ inactive, ended, asked }) => and([not(inactive), not(ended), not(asked)]),
};

interface Facts {
  readonly inactive: Criteria;
  readonly ended: Criteria;
  /** An invitation that can no longer be accepted. */
  readonly overdue: Criteria;
  /** An invitation that was not accepted, overdue or not. */
  readonly asked: Criteria;
}

/** @throws FhirError `invalid` - a modifier, or an unknown status */
export function statusCriteria(model: FhirModel, name: string, value: string, now: Date): Criteria {
  if (name !== 'status') throw new FhirError('invalid', 'Search parameter "status" takes no modifier');
  const search = (parameter: string, text: string): Criteria =>
    parseParameter(model, 'ProjectMembership', parameter, [text]);
  const until = `le${now.toISOString()}`;
  const facts: Facts = {
    inactive: search('active', 'false'),
    ended: search('access-expires', until),
    overdue: search('invitation-expires', until),
    asked: search('invitation-expires:missing', 'false'),
  };
  return or(
    value.split(',').map((status) => {
      if (Object.hasOwn(STATUSES, status)) return STATUSES[status]!(facts);
      throw new FhirError('invalid', `"status" is one of ${Object.keys(STATUSES).join(', ')}`);
    }),
  );
}
