/** The readable text of a message as it was fetched. */

/** Decoded text of a message, cut at the number of characters asked for. */
export interface FetchedText {
  readonly content: string;
  readonly truncated: boolean;
  readonly totalChars: number;
  /** The content is the sender's HTML as it came, not cut: only `readHtml` may make something of it. */
  readonly isHtml?: true;
  /** The message has more than is ever read of it. */
  readonly isCutOff?: true;
  /** Characters that style hides, left out of a text made of HTML. */
  readonly hiddenChars?: number;
  /** Characters marked in such a text as small or as faint. */
  readonly smallChars?: number;
  readonly faintChars?: number;
  /** Its HTML takes more time or memory than a mail may; nothing of it is shown. */
  readonly isUnreadable?: true;
  /** The mail server told of a text and gave no byte of it, asked twice: what the sender wrote is not known. */
  readonly isMissing?: true;
  readonly notes?: readonly TextNote[];
}

/**
 * How a text was come by. `not_parsed`: the mail server could not make out the parts of the message, and what could be read was
 * taken from its source. `attached_text`: the message has no text of its own; these are its reports or attached messages.
 * `text_missing`: the mail server did not give one of several parts of the text.
 */
export const TEXT_NOTES = ['not_parsed', 'attached_text', 'text_missing'] as const;
export type TextNote = (typeof TEXT_NOTES)[number];
