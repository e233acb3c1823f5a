/** Authorization requests without an authorization server: tests put them here and read the decisions. */
import type {
  AuthorizationDecision,
  AuthorizationRequest,
  AuthorizationRequests,
} from '../../../commands/ports/authorization-server.ts';

export class MemoryAuthorizationRequests implements AuthorizationRequests {
  /** By consent token. */
  readonly waiting = new Map<string, Omit<AuthorizationRequest, 'decision'>>();
  /** By id of the request. */
  readonly decisions = new Map<string, AuthorizationDecision>();
  readonly forgotten: string[] = [];

  find(consentToken: string): Promise<AuthorizationRequest | null> {
    const waiting = this.waiting.get(consentToken);
    if (!waiting) return Promise.resolve(null);
    const decided = this.decisions.get(waiting.id);
    const decision = decided ? (decided.allowed ? 'allowed' : 'denied') : 'none';
    return Promise.resolve({ ...waiting, decision });
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
