import type { Clearance } from './clearance.js';

/** To what a caller is narrowed. */
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
      /** All that is left is what these clear for; each of another system. */
      readonly clearance: readonly Clearance[];
    }
  | {
      /** All that is left is what belongs to the compartment of this Patient. */
      readonly patient: string | { readonly reference?: string | undefined };
    };
