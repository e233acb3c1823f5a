/** What an element may hold: text, nodes, nothing, and lists of these. */
export type Child = Node | string | number | null | undefined | false | readonly Child[];
