/** What the console reads of the REST face's answers (`contract.md` 9, 12, 17); types only. */

export type ApprovalStatus =
  | 'awaiting_approval'
  | 'pending_commit'
  | 'committing'
  | 'committed'
  | 'commit_failed'
  | 'commit_unknown'
  | 'rejected'
  | 'cancelled'
  | 'expired'
  | 'superseded'
  | 'invalidated';

export interface ActionsManifest {
  kind: 'message_actions';
  steps: { action: string; folder_path?: string; flags_add?: string[]; flags_remove?: string[] }[];
  items: { message_id: string; folder: string }[];
}

export interface SendManifest {
  kind: 'send_draft';
  envelope: { from: string; to: string[] };
  headers: { subject: string };
}

export type Manifest = ActionsManifest | SendManifest;

export interface Vote {
  by: string;
  decision: 'approve' | 'reject';
  reason: string | null;
  at: string;
  content_hash: string;
  own_request: boolean;
}

export interface ItemResult {
  message_id: string;
  action: string;
  outcome: 'done' | 'failed' | 'unknown' | 'skipped';
  error?: { code: string; message: string };
}

export interface Approval {
  id: string;
  status: ApprovalStatus;
  action: string;
  mailbox_id: string;
  operation_id: string;
  requester: { id: string; kind: string; on_behalf_of?: string };
  reason: string | null;
  content_hash: string;
  /** Null once it was erased. */
  manifest: Manifest | null;
  policy: { version: number; rule_id: string };
  quorum: { required: number; approved: number; approver_role: string; exclude_owner: boolean };
  votes: Vote[];
  created_at: string;
  expires_at: string;
  commit_at?: string;
  cancel_reason?: string | null;
  invalidated?: { reason: string };
  execution?: {
    attempts: number;
    results: ItemResult[];
    error?: { code: string; message: string };
  };
  superseded_by?: string;
  /** Of the people, agents and the mailbox named here by id. */
  names: Record<string, string>;
}

export interface Preview {
  manifest: Manifest | null;
  content_hash: string;
  html: string;
  text: string;
  previous?: { content_hash: string; changes: Change[] };
}

export interface Change {
  what: 'sender' | 'recipients' | 'reply_to' | 'subject' | 'headers' | 'attachments' | 'body';
  before: string | null;
  after: string | null;
  lines?: { change: 'removed' | 'added'; text: string }[];
  more_lines?: number;
}

export interface Page<Item> {
  items: Item[];
  page: { next_cursor: string | null };
}

export interface AuditLine {
  id: string;
  type: string;
  occurred_at: string;
  actor: { type: string; id: string };
  surface: string;
  outcome: string;
  data: Record<string, unknown>;
}

export interface Operation {
  updated_at: string;
  events: AuditLine[];
}

export interface SignedIn {
  session_token: string;
}

export interface Monitored {
  cursor: string;
}

export interface Issue {
  path: string;
  message: string;
}

export interface ErrorBody {
  error: {
    code: string;
    message: string;
    request_id: string;
    retry_after_seconds?: number;
    details: { issues?: Issue[] };
  };
}

export interface Session {
  user: { id: string; name: string; email: string };
  org: { id: string; name: string };
  role: string;
}

export interface Identity {
  mailboxes: { id: string; scopes: string[] }[];
}
