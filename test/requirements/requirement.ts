/** A rule of the interface or the contract: what must exist for it to count, and its gist in our own words. */
export type Requirement = readonly [owner: string | readonly string[], text: string];

/** The keys are ids: document, section, name. */
export type RequirementTable = Readonly<
  Record<`${'interface' | 'contract'}:${string}:${string}`, Requirement>
>;
