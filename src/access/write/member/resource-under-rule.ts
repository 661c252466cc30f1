import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { FhirError } from '../../../fhir/error.js';
import type { AnyResource } from '../../../fhir/resource.js';
import { compileFhirPath } from '../../../fhirpath/compile.js';
import type { Deciding } from '../../evaluate/deciding.js';
import { keepFields, type KeptFields } from '../../fields/keep-fields.js';
import { withoutSecrets } from '../../fields/mask-resource.js';
import type { AccessRule } from '../../rule.js';
import { fixedLink } from '../../sign-in/related-patient.js';
import type { CommitState } from './commit-state.js';
import { grants } from './granting.js';
import { stamp, withoutVersion } from '../stamp.js';

/** The resource replaced by a write; `before` and `shown` are null on creation. */
export interface Replaced {
  readonly before: AnyResource | null;
  /** The same as shown to the writer. */
  readonly shown: AnyResource | null;
  /** The writer may not read it. */
  readonly unread: boolean;
  /** The elements guarded from the writer. */
  readonly kept: ReadonlySet<string>;
}

/** The resource as the rule allows it to be stored, or a `forbidden` error. */
export function* resourceUnderRule(
  state: CommitState,
  rule: AccessRule,
  asked: AnyResource,
  { before, shown, unread, kept }: Replaced,
): Deciding<KeptFields | FhirError> {
  const type = asked.resourceType;
  const link = unread ? fixedLink(state.caller, asked) : [];
  const fixed = keepFields(state.caller.rules.model, before, asked, {
    kept,
    readonly: [...rule.readonlyFields, ...link],
    shown,
    unread,
  });
  if (fixed instanceof FhirError) return fixed;
  // Decided in its stored form: writers cannot set author, project and time in `meta`.
  const after = stamp(withoutVersion(fixed.after), state.caller);
  if (!(yield* grants(state, rule, after))) {
    return new FhirError(
      'forbidden',
      `Not allowed to write this ${type}: the access policy does not grant the resource that it would become`,
    );
  }
  if (
    !rule.writeConstraints.every((expression) => constraintHolds(state.caller.rules.model, expression, before, after))
  ) {
    return new FhirError('forbidden', `A write constraint of the access policy does not hold for this ${type}`);
  }
  return { after, kept: fixed.kept };
}

function constraintHolds(
  model: FhirModel,
  expression: string,
  before: AnyResource | null,
  after: AnyResource,
): boolean {
  const [was, is] = [before === null ? [] : withoutSecrets(before), withoutSecrets(after)];
  const result = compileFhirPath(model, expression, after.resourceType)(is, { before: was, after: is });
  return result.length === 1 && result[0] === true;
}
