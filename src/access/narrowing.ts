/** The limits that `narrowCaller` adds to a caller. */
export type Narrowing =
  | {
      /** SMART's clinical scopes, version 1 or 2, separated by spaces: `patient/Observation.rs user/*.cruds?category=…`. */
      readonly scopes: string;
      /**
       * The Patient in the launch context, for scopes that begin with `patient/`. Default: a Patient's own profile, and the
       * patient of a RelatedPerson.
       */
      readonly patient?: string | { readonly reference?: string | undefined } | undefined;
    }
  | {
      /** Allows only resources that these clearances clear, at most one clearance per code system. */
      readonly clearance: readonly Clearance[];
    }
  | {
      /** Allows only resources in the compartment of this Patient. */
      readonly patient: string | { readonly reference?: string | undefined };
    };

/**
 * The labels (`meta.security`) of one code system that a caller is cleared for. A resource with any other label of that
 * system is invisible to the caller, and so is a resource that contains such a resource. Labels of other systems have
 * no effect.
 *
 * Codes of HL7's Confidentiality (http://terminology.hl7.org/CodeSystem/v3-Confidentiality) also clear the lower codes:
 * `N` clears for `U`, `L`, `M` and `N`.
 */
export interface Clearance {
  /** The system of the labels: an absolute URI. */
  readonly system: string;
  /** An empty list clears no label of the system. */
  readonly codes: readonly string[];
}
