import type { CompiledFhirPath } from '../fhirpath/compile.js';
import type { JsonObject } from '../fhir/resource.js';
import type { ReferenceTargets } from './reference-targets.js';
import type { ValueBounds } from './value-bounds.js';
import type { CodeSet } from './value-set-codes.js';

/** The rules of a profile for one element, and for the elements below it. */
export interface ElementRules {
  /** As in the profile: `name`, `value[x]`; for the root the name of the type. */
  readonly name: string;
  /** The id of the element in the profile, `Patient.extension:race`. */
  readonly id: string;
  readonly min: number;
  readonly max: number;
  /**
   * Types that a choice may have, targets that a reference may have, profiles of the value; empty: the same as in the
   * base.
   */
  readonly types: readonly TypeRule[];
  readonly fixed: { readonly value: unknown } | undefined;
  readonly pattern: { readonly value: unknown } | undefined;
  readonly maxLength: number | undefined;
  readonly bounds: BoundsRule | undefined;
  readonly codes: CodeRule | undefined;
  readonly invariants: readonly InvariantRule[];
  readonly children: readonly ElementRules[];
  readonly slicing: SlicingRules | undefined;
}

export interface TypeRule {
  readonly type: string;
  /** Canonical URLs of profiles, one of which the value must conform to; empty: any. */
  readonly profiles: readonly string[];
  /** The resource types that a reference may lead to, with the profiles of such targets; undefined: any. */
  readonly targets: ReadonlyMap<string, readonly string[]> | undefined;
  /** The unchecked rule for a target outside of the resource and its Bundle. */
  readonly elsewhere: UncheckedRule;
}

export interface BoundsRule extends ValueBounds {
  /** The unchecked rule for a value that cannot be compared. */
  readonly incomparable: UncheckedRule;
}

/** A required binding. */
export interface CodeRule {
  readonly valueSet: string;
  readonly codes: CodeSet;
}

export interface InvariantRule {
  readonly key: string;
  readonly isError: boolean;
  /** The text of the profile's author. */
  readonly human: string;
  readonly holds: CompiledFhirPath;
  /** Noted where it depends on a resource elsewhere. */
  readonly elsewhere: UncheckedRule;
}

export interface SlicingRules {
  /** Whether an item that is in no slice is refused. */
  readonly closed: boolean;
  readonly slices: readonly SliceRules[];
}

export interface SliceRules {
  readonly name: string;
  /** Whether an item of the list belongs to the slice; undefined if that depends on a resource elsewhere. */
  readonly holds: SliceTest;
  readonly rules: ElementRules;
  /** The unchecked rule if membership depends on a resource elsewhere. */
  readonly elsewhere: UncheckedRule;
}

export type SliceTest = (item: SlicedItem) => boolean | undefined;

/** An item with its type, as discriminators see it. */
export interface SlicedItem {
  readonly value: unknown;
  readonly type: string;
  readonly targets: ReferenceTargets;
  /** Whether a value conforms to one of the profiles. */
  conforms(value: JsonObject, type: string, profiles: readonly string[]): boolean;
}

/** A part of a profile that validation does not check. */
export interface UncheckedRule {
  /** Canonical URL of the profile. */
  readonly profile: string;
  /** The id of the element in the profile, `Patient.extension:race`. */
  readonly element: string;
  /** The unchecked rule and the reason: `the required binding: its value set is not among the definitions`. */
  readonly reason: string;
}

/** A profile, ready to check. */
export interface ProfileRules {
  readonly url: string;
  /** The type that it is for: `Patient`, `Extension`. */
  readonly type: string;
  readonly root: ElementRules;
  /** The rules of its base profile, if its own rules are only differences. */
  readonly base: ProfileRules | undefined;
  readonly unchecked: readonly UncheckedRule[];
}
