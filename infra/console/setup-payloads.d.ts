/** What the console reads of mailboxes, grants, agents and tokens (`contract.md` 4, 17); types only. */

export type Security = 'tls' | 'starttls' | 'none';

export interface Hosts {
  host: string;
  port: number;
  security: Security;
}

export type MailboxState =
  | 'pending'
  | 'connecting'
  | 'syncing'
  | 'connected'
  | 'degraded'
  | 'connection_failed'
  | 'auth_failed'
  | 'paused'
  | 'removed';

export interface Mailbox {
  id: string;
  email: string;
  display_name: string | null;
  provider: string;
  auth_type: 'password' | 'oauth2';
  state: MailboxState;
  state_reason: string | null;
  imap: Hosts;
  smtp: Hosts | null;
  folder_roles: Record<string, string>;
  sync: { last_event_at: string | null; lag_seconds?: number; indexed: number; total: number };
  created_at: string;
  erase_at?: string;
  version: number;
}

export type SignInWith = { type: 'password'; username: string; password: string } | ProviderLogin;

export interface ProviderLogin {
  type: 'oauth2';
  provider: 'google' | 'microsoft';
}

export interface NewMailbox {
  email: string;
  imap: Hosts;
  smtp: Hosts;
  auth: SignInWith;
}

export type MailboxChange = Partial<Omit<NewMailbox, 'email'>> & { paused?: boolean; restore?: true };

export interface Discovery {
  imap: Hosts[];
  smtp: Hosts[];
  provider: string | null;
  source: 'srv' | 'known' | 'guess' | 'none';
}

export type Stage = 'egress' | 'connect' | 'tls' | 'greeting' | 'login' | 'ready';

export interface ConnectionReport {
  ok: boolean;
  stage: Stage;
  latency_ms: number;
  error?: string;
}

export interface ConnectionTest {
  imap: ConnectionReport;
  smtp: ConnectionReport | null;
}

export interface ProviderAuthorization {
  authorize_url: string;
  expires_at: string;
}

export interface Folder {
  id: string;
  path: string;
}

export interface Principal {
  id: string;
  kind: 'user' | 'agent';
}

export interface GrantTerms {
  preset?: string;
  scopes?: string[];
  expires_at?: string | null;
}

export interface Grant {
  id: string;
  mailbox_id: string;
  principal: Principal;
  scopes: string[];
  folder_roles: string[] | null;
  expires_at: string | null;
  created_at: string;
}

export interface Agent {
  id: string;
  name: string;
  owner_id: string;
  created_at: string;
}

export type Surface = 'rest' | 'mcp';

export interface Token {
  id: string;
  name: string;
  principal: Principal;
  scopes: string[];
  mailbox_ids: string[] | null;
  surface: Surface;
  expires_at: string;
  last_used_at?: string | null;
  created_at: string;
  status: 'active' | 'expired' | 'revoked';
}

export interface NewToken {
  name: string;
  principal_id?: string;
  surface: Surface;
  preset: string;
  mailbox_ids?: string[];
  expires_at: string;
}

/** `token` is there the first time only. */
export interface IssuedToken extends Token {
  token?: string;
  secret_shown: boolean;
}
