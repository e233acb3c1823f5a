/**
 * HTML and Markdown that others wrote, made into something that may be handed out: apart from the thread that answers requests,
 * bounded in time and memory.
 */
import type { ReadAs, ReadHtml } from '../html/read-html.ts';
import { type WrittenMarkup, type RenderedMarkup } from '../html/written-markup.ts';

/** A body as an approver is shown it: safe HTML, and the same as text. */
export interface ShownBody {
  readonly html: string;
  readonly text: string;
  /** There is more of it than is shown. */
  readonly isCut: boolean;
  /** Places where characters that nobody sees, or runs of blanks, are marked. */
  readonly invisibleMarks: number;
  /** Hosts marked because they look like others. */
  readonly lookAlikeHosts: number;
}

export interface ShownMail extends ShownBody {
  readonly hiddenChars: number;
  /** Of less than 8 pixels, or of an unknown size. */
  readonly smallChars: number;
  /** Of a contrast under 2, or of an unknown colour. */
  readonly faintChars: number;
  /** Pictures that a reader's program would load from somewhere. */
  readonly remotePictures: number;
  /** Links whose text names another host. */
  readonly misleadingLinks: number;
  /** Some style moves, covers or turns text round: others may see it elsewhere than it stands here. */
  readonly movesText: boolean;
}

/** Both parts of a message that is to be approved; `mail` is null for one without HTML. */
export interface ShownParts {
  readonly mail: ShownMail | null;
  readonly text: ShownBody;
}

/** Attachment ids by Content-ID: what stands for `cid:` pictures. */
export type InlineImages = Readonly<Record<string, string>>;

export interface Markup {
  /** Throws `MarkupRefused`; `overloaded`, as both others. */
  readonly render: (written: WrittenMarkup) => Promise<RenderedMarkup>;
  /** A received message's HTML; `isUnreadable` where it takes too long or too much memory. */
  readonly read: (html: string, as: ReadAs, images: InlineImages) => Promise<ReadHtml>;
  /** What an approver is shown of a body. Throws `MarkupRefused` for one that takes too long or too much memory. */
  readonly show: (parts: { readonly html: string | null; readonly text: string }) => Promise<ShownParts>;
}
