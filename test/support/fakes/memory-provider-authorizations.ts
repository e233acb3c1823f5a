/** Provider authorizations without a provider: every provider is registered, none ever authorizes. */
import type {
  AuthorizationRequest,
  MailProvider,
  ProviderAuthorizations,
} from '../../../commands/ports/mail-logins.ts';

export class MemoryProviderAuthorizations implements ProviderAuthorizations {
  /** Started authorizations, by their state. */
  readonly pending = new Map<string, AuthorizationRequest>();
  /** Revoked refresh tokens. */
  readonly revoked: string[] = [];

  requireRegistered(): void {
    return undefined;
  }

  begin(request: AuthorizationRequest): Promise<{ authorizeUrl: string; expiresAt: Date }> {
    const state = `state-${String(this.pending.size)}`;
    this.pending.set(state, request);
    return Promise.resolve({
      authorizeUrl: `https://provider.example/?state=${state}`,
      expiresAt: new Date(0),
    });
  }

  find(state: string): Promise<AuthorizationRequest | null> {
    return Promise.resolve(this.pending.get(state) ?? null);
  }

  take(): never {
    throw new Error('nothing is granted here');
  }

  redeem(): never {
    throw new Error('nothing is granted here');
  }

  forget(mailboxId: string): Promise<void> {
    for (const [state, request] of this.pending)
      if (request.mailboxId === mailboxId) this.pending.delete(state);
    return Promise.resolve();
  }

  revoke(_: MailProvider, refreshToken: string): Promise<boolean> {
    this.revoked.push(refreshToken);
    return Promise.resolve(true);
  }
}
