/** A rule of `docs/contract.md`: the capabilities it applies to once they exist, and its text. */
export type Requirement = readonly [owner: string | readonly string[], text: string];

/** The keys are ids: `contract`, the number of the section, a name. */
export type RequirementTable = Readonly<Record<`contract:${number}:${string}`, Requirement>>;
