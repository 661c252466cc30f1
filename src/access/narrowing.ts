import type { Clearance } from './clearance.js';

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
