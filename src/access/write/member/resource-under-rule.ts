import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { FhirError } from '../../../fhir/error.js';
import type { AnyResource } from '../../../fhir/resource.js';
import { compileFhirPath } from '../../../fhirpath/compile.js';
import { getOrCreate } from '../../../platform/maps.js';
import type { SearchSubject } from '../../../search/evaluate/search-subject.js';
import type { Deciding } from '../../evaluate/deciding.js';
import { keepFields, type KeptFields } from '../../fields/keep-fields.js';
import { withoutSecrets } from '../../fields/mask-resource.js';
import type { AccessRule } from '../../rule.js';
import { fixedLink } from '../patient-link.js';
import type { CommitState } from './commit-state.js';
import { grants, subjectIn } from './granting.js';
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

/** A resource as rules with the same read-only fields allow it to be stored. */
interface StoredForm extends KeptFields {
  readonly subject: () => SearchSubject;
}

/** The {@link StoredForm}s of a written resource. PERF: hundreds of rules have few different read-only fields. */
export class StoredForms {
  readonly #byFields = new Map<string, StoredForm | FhirError>();

  constructor(
    readonly state: CommitState,
    private readonly asked: AnyResource,
    readonly replaced: Replaced,
  ) {}

  get type(): string {
    return this.asked.resourceType;
  }

  under({ readonlyFields }: AccessRule): StoredForm | FhirError {
    return getOrCreate(this.#byFields, readonlyFields.join(), () => this.#with(readonlyFields));
  }

  #with(fields: readonly string[]): StoredForm | FhirError {
    const { state, asked, replaced } = this;
    const { before, shown, unread, kept } = replaced;
    const link = unread ? fixedLink(state.caller, asked) : [];
    const readonly = [...fields, ...link];
    const fixed = keepFields(state.caller.rules.model, before, asked, { kept, readonly, shown, unread });
    if (fixed instanceof FhirError) return fixed;
    // Decided in its stored form: writers cannot set author, project and time in `meta`.
    const after = stamp(withoutVersion(fixed.after), state.caller);
    return { after, kept: fixed.kept, subject: subjectIn(state, after) };
  }
}

/** The resource as the rule allows it to be stored, or a `forbidden` error. */
export function* resourceUnderRule(forms: StoredForms, rule: AccessRule): Deciding<KeptFields | FhirError> {
  const { state, type } = forms;
  const form = forms.under(rule);
  if (form instanceof FhirError) return form;
  const { after, kept, subject } = form;
  if (!(yield* grants(state, rule, after, subject))) {
    return new FhirError(
      'forbidden',
      `Not allowed to write this ${type}: the access policy does not grant the resource that it would become`,
    );
  }
  if (
    !rule.writeConstraints.every((expression) =>
      constraintHolds(state.caller.rules.model, expression, forms.replaced.before, after),
    )
  ) {
    return new FhirError('forbidden', `A write constraint of the access policy does not hold for this ${type}`);
  }
  return { after, kept };
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
