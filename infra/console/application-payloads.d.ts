/** What the console reads of applications that connect by OAuth (`contract.md` 18); types only. */

export type ApplicationKind = 'registered' | 'document' | 'dynamic';

export interface Application {
  id: string;
  kind: ApplicationKind;
  name: string | null;
  /** Of its metadata, for the kind `document`. */
  host: string | null;
  redirect_host: string;
  only_loopback: boolean;
}

/** What an application asks this person for. */
export interface AuthorizationRequest {
  application: Application;
  organisation: { id: string; name: string };
  refusal: string | null;
  scopes: string[];
  mailboxes: { id: string; email: string; scopes: string[] }[];
  default_days: number;
  most_days: number;
  connections: { id: string; connected_at: string }[];
}

export type AuthorizationDecision = { consent_token: string; org_id: string } & (
  | { decision: 'deny' }
  | { decision: 'allow'; scopes: string[]; mailbox_ids: string[] | null; expires_in_days: number }
);

export interface ConnectedApplication {
  id: string;
  application: Application;
  user: { id: string; name: string };
  scopes: string[];
  mailbox_ids: string[] | null;
  connected_at: string;
  expires_at: string;
  last_used_at: string | null;
}

export interface OAuthClient {
  id: string;
  client_id: string;
  kind: 'registered' | 'approved';
  name: string;
  redirect_uris: string[];
  scopes: string[] | null;
  is_confidential: boolean;
  created_at: string;
  created_by: string;
  version: number;
}

/** To register, or with a client id to approve. */
export type NewOAuthClient = { name: string; scopes: string[] | null } & (
  { redirect_uris: string[]; confidential: boolean } | { client_id: string }
);

/** `client_secret`: of a confidential one, the first time only. */
export interface CreatedOAuthClient extends OAuthClient {
  client_secret?: string;
  secret_shown: boolean;
}

/** Which applications members may connect. */
export type OAuthClientRule = 'any' | 'approved' | 'registered';
