/** Statements that run for every request. */

/** A statement under a name: a connection parses and plans it once. The text under one name never varies. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The text to run: named where it runs often. */
export type SqlText = string | Statement;

export const textOf = (statement: SqlText): string =>
  typeof statement === 'string' ? statement : statement.text;
