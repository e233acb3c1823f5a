/** What a mail server said it can, as far as the gateway asks. */
export interface ServerCapabilities {
  readonly move: boolean;
  readonly uidPlus: boolean;
  readonly specialUse: boolean;
  readonly condstore: boolean;
  readonly idle: boolean;
  /** One message may lie in several folders at once (X-GM-EXT-1). */
  readonly sharesMessages: boolean;
  /** The server's own words, upper case, sorted. */
  readonly names: readonly string[];
}
