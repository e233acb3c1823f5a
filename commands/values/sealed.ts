/**
 * A text encrypted under its owner's key: it is readable until the owner's erasure, however long the log
 * exists.
 */
export type Sealed = string & { readonly __sealed: true };

/** How every sealed text begins. */
export const SEALED = 'sealed.';
