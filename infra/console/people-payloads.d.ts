/** What the console reads of people, invites, accounts and organisations; types only. */

export type Role = 'owner' | 'admin' | 'approver' | 'member' | 'auditor';
/** Which mails about waiting approvals a person gets. */
export type NotificationLevel = 'each' | 'digest' | 'off';

/** The signed-in person, in every organisation. */
export interface Me {
  id: string;
  name: string;
  email: string;
  is_verified: boolean;
  notifications: NotificationLevel;
  /** `erase_at`: of one that is deleted, and that this person may restore until then. */
  organisations: { id: string; name: string; role: Role; erase_at: string | null }[];
  created_at: string;
}

export interface Member {
  id: string;
  name: string;
  email: string;
  role: Role;
  joined_at: string;
  consequences: Consequences;
}

/** What ends with a membership. */
export interface Consequences {
  agents: { id: string; name: string }[];
  tokens: number;
  grants: number;
}

export interface Invite {
  id: string;
  email: string;
  role: Role;
  mailbox_grants: { mailbox_id: string }[];
  expires_at: string;
  created_at: string;
  created_by: string;
}

export interface InviteSettings {
  email: string;
  role: Role;
  mailbox_grants: { mailbox_id: string; preset: string }[];
}

/** What the holder of an invite is shown before accepting. */
export interface InviteLink {
  org: { name: string };
  role: Role;
  invited_by: { name: string } | null;
  email: string;
  has_account: boolean;
  expires_at: string;
}

export interface Organisation {
  id: string;
  name: string;
  created_at: string;
  deletion: { erase_at: string } | null;
  members: number;
}

export interface OpenSession {
  id: string;
  org: { id: string; name: string };
  is_current: boolean;
  started_at: string;
  last_used_at: string;
  ip: string | null;
  /** Browser and system in words. */
  device: string | null;
}
