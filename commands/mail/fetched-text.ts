/** The readable text of a fetched message. */

/** Decoded text of a message, truncated to the requested number of characters. */
export interface FetchedText {
  readonly content: string;
  readonly truncated: boolean;
  readonly totalChars: number;
  /** The content is the sender's HTML, unchanged and not truncated: only `readHtml` may process it. */
  readonly isHtml?: true;
  /** The message is longer than the part that is ever read. */
  readonly isCutOff?: true;
  /** Characters that style hides, omitted from a text made from HTML. */
  readonly hiddenChars?: number;
  /** Characters marked in such a text as small or faint. */
  readonly smallChars?: number;
  readonly faintChars?: number;
  /** Its HTML requires more time or memory than a mail may use; none of it is shown. */
  readonly isUnreadable?: true;
  /** The mail server announced a text but returned no byte of it, twice: the sender's text is unknown. */
  readonly isMissing?: true;
  readonly notes?: readonly TextNote[];
}

/**
 * How a text was obtained. `not_parsed`: the mail server could not parse the parts of the message, and the
 * text was taken from its source. `attached_text`: the message has no text of its own; these are its reports
 * or attached messages. `text_missing`: the mail server did not return one of several parts of the text.
 */
export const TEXT_NOTES = ['not_parsed', 'attached_text', 'text_missing'] as const;
export type TextNote = (typeof TEXT_NOTES)[number];
