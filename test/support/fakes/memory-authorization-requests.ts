/** Authorization requests without an authorization server: tests put them here and read the decisions. */
import type {
  AuthorizationDecision,
  AuthorizationRequest,
  AuthorizationRequests,
} from '../../../commands/ports/authorization-server.ts';

export class MemoryAuthorizationRequests implements AuthorizationRequests {
  /** By consent token. */
  readonly waiting = new Map<string, AuthorizationRequest>();
  /** By id of the request. */
  readonly decisions = new Map<string, AuthorizationDecision>();
  readonly forgotten: string[] = [];

  find(consentToken: string): Promise<AuthorizationRequest | null> {
    return Promise.resolve(this.waiting.get(consentToken) ?? null);
  }

  decide(requestId: string, decision: AuthorizationDecision): Promise<string | null> {
    const before = this.decisions.get(requestId);
    if (before && JSON.stringify(before) !== JSON.stringify(decision)) return Promise.resolve(null);
    this.decisions.set(requestId, decision);
    return Promise.resolve(`http://127.0.0.1/oauth/authorize/${requestId}?decided=yes`);
  }

  forgetGrants(grantIds: readonly string[]): Promise<void> {
    this.forgotten.push(...grantIds);
    return Promise.resolve();
  }
}
