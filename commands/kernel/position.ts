/** A place in `$all`: the commit position, compared and never calculated with. */
export type Position = bigint;
