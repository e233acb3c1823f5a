/** Requests of applications for access to a person's mail (RFC 6749 4.1.1), from their arrival to the person's decision. */
import type { OAuthClientKind } from './directory.ts';
import type { Scope } from '../values/scopes.ts';

export interface AuthorizationRequest {
  /** Known only to the browser that the application sent here. */
  readonly id: string;
  readonly client: AskingClient;
  /** What it asks for, of what an application may hold; everything when it named nothing. */
  readonly scopes: readonly Scope[];
  readonly decision: 'none' | 'allowed' | 'denied';
}

/** An application as it describes itself. */
export interface AskingClient {
  /** An address for the kind `document`. */
  readonly id: string;
  readonly kind: OAuthClientKind;
  /** One line without control and direction characters, or null. It is not verified unless an organisation registered it. */
  readonly name: string | null;
  /** Where the browser goes after the decision. */
  readonly redirectUri: string;
}

export type AuthorizationDecision =
  | {
      readonly allowed: true;
      readonly userId: string;
      readonly grantId: string;
      readonly scopes: readonly Scope[];
    }
  | { readonly allowed: false };

export interface AuthorizationRequests {
  /**
   * The request that a consent token names. The token is given only to the browser in which the request arrived. Null when it is
   * unknown or over, and when its application or redirect is gone. Throws `store_unavailable`.
   */
  find(consentToken: string): Promise<AuthorizationRequest | null>;
  /**
   * Stores the decision; a repeat of the same one changes nothing. Returns the address that the browser opens next. Null when the
   * request is over or was decided otherwise. Throws `store_unavailable`.
   */
  decide(requestId: string, decision: AuthorizationDecision): Promise<string | null>;
  /** Removes the refresh tokens of grants that have ended. */
  forgetGrants(grantIds: readonly string[]): Promise<void>;
}
