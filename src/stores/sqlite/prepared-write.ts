import type { Write } from '../../store/store.js';

/** A write that may be partly prepared before the transaction. */
export type PreparedWrite =
  | Exclude<Write, { readonly kind: 'put' }>
  | (Extract<Write, { readonly kind: 'put' }> & {
      /** The text that is stored if this is the first version of its resource, of the instant that is in it. */
      readonly firstText?: string;
    });
