/** The markup exceeds a limit; nothing was rendered. */
export class MarkupRefused extends Error {
  readonly reason: 'too_deep' | 'too_large' | 'too_costly';
  constructor(reason: MarkupRefused['reason'], message: string) {
    super(message);
    this.name = 'MarkupRefused';
    this.reason = reason;
  }
}
