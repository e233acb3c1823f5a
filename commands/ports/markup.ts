/**
 * Converts HTML and Markdown from other people into content that is safe to return. It runs outside the
 * thread that answers requests, with limits on time and memory.
 */
import type { ReadAs, ReadHtml } from '../html/read-html.ts';
import type { RenderedMarkup, WrittenMarkup } from '../html/written-markup.ts';

/** A body as it is shown to an approver: safe HTML, and the same as text. */
export interface ShownBody {
  readonly html: string;
  readonly text: string;
  /** True when the body is longer than what is shown. */
  readonly isCut: boolean;
  /** Marked places with invisible characters or runs of blanks. */
  readonly invisibleMarks: number;
  /** Hosts that are marked because they look like others. */
  readonly lookAlikeHosts: number;
}

export interface ShownMail extends ShownBody {
  readonly hiddenChars: number;
  /** Characters smaller than 8 pixels, or of an unknown size. */
  readonly smallChars: number;
  /** Characters with a contrast under 2, or of an unknown colour. */
  readonly faintChars: number;
  /** Pictures that a reader's mail program would load from another host. */
  readonly remotePictures: number;
  /** Links whose text names another host. */
  readonly misleadingLinks: number;
  /** A style moves, covers or rotates text: others may see it at another place than here. */
  readonly movesText: boolean;
}

/** Both parts of a message to be approved; `mail` is null for a message without HTML. */
export interface ShownParts {
  readonly mail: ShownMail | null;
  readonly text: ShownBody;
}

/** Attachment ids by Content-ID: the replacements of `cid:` pictures. */
export type InlineImages = Readonly<Record<string, string>>;

export interface Markup {
  /** Throws `MarkupRefused`, and `overloaded` as both other methods do. */
  readonly render: (written: WrittenMarkup) => Promise<RenderedMarkup>;
  /** The HTML of a received message; `isUnreadable` where it takes too much time or memory. */
  readonly read: (html: string, as: ReadAs, images: InlineImages) => Promise<ReadHtml>;
  /** A body as it is shown to an approver. Throws `MarkupRefused` when it takes too much time or memory. */
  readonly show: (parts: { readonly html: string | null; readonly text: string }) => Promise<ShownParts>;
}
