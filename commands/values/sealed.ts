/** A text encrypted under its owner's key: only its owner's erasure, not the log, decides how long it can be read. */
export type Sealed = string & { readonly __sealed: true };
