/** What the console reads of REST responses (`contract.md` 9, 12, 17); types only. */

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
  items: { message_id: string }[];
}

export interface SendManifest {
  kind: 'send_draft';
  attachments: Attachment[];
}

export interface Attachment {
  filename: string | null;
  content_type: string;
  size: number;
}

export type Manifest = ActionsManifest | SendManifest;

export interface Recipient {
  field: 'to' | 'cc' | 'bcc' | 'envelope';
  email: string;
  outside: boolean;
}

export interface Warning {
  code: string;
  severity: 'high' | 'medium' | 'low';
  text: string;
}

/** The summary that approvers confirm. */
export interface Facts {
  /** Null once it was erased; `recipients` and `attachments` of a send. */
  confirmation: {
    what: string;
    destructive: boolean;
    recipients?: Recipient[];
    attachments?: number;
  } | null;
  /** The worst first. */
  warnings?: Warning[];
  own_request?: boolean;
}

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

export interface Approval extends Facts {
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
  /** Who has to commit it, if it does not run automatically. */
  run_by?: { id: string; until: string | null; within_seconds: number };
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

export interface Preview extends Facts {
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

export interface PasswordLink {
  user: { name: string; email: string };
  org: { name: string } | null;
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
  token: { scopes: string[] };
  mailboxes: { id: string; email: string; scopes: string[] }[];
}

export type EndpointStatus = 'active' | 'failing' | 'paused' | 'disabled';

export interface EndpointSettings {
  url: string;
  description: string | null;
  event_types: string[];
  mailbox_ids: string[];
  payload: 'thin' | 'summary';
}

export interface WebhookEndpoint extends Omit<EndpointSettings, 'url'> {
  id: string;
  /** Null once it was erased. */
  url: string | null;
  status: EndpointStatus;
  disabled_reason: 'gone' | 'failing' | 'rights_gone' | null;
  secret_hint: string | null;
  previous_secret_expires_at: string | null;
  consecutive_failures: number;
  last_success_at: string | null;
  last_failure_at: string | null;
  next_attempt_not_before: string | null;
  last_sequence: number;
  rights_of: string;
  version: number;
  created_at: string;
}

/** `secret` is there the first time only. */
export interface ShownSecret {
  secret?: string;
  secret_shown: boolean;
}

export type DeliveryStatus =
  'scheduled' | 'in_flight' | 'succeeded' | 'failed' | 'blocked' | 'interrupted' | 'cancelled';

export interface Delivery {
  id: string;
  endpoint_id: string;
  event_id: string;
  event_type: string;
  trigger: 'event' | 'retry' | 'test' | 'replay';
  attempt: number;
  status: DeliveryStatus;
  due_at: string;
  started_at: string | null;
  duration_ms: number | null;
  http_status: number | null;
  error: { code: string } | null;
  response_excerpt: string | null;
  replay_of: string | null;
  next_delivery_id: string | null;
  payload: {
    type: string;
    timestamp: string;
    sequence: number | null;
    data: Record<string, unknown> | null;
  };
  withheld: boolean;
}

/** The content of an element: text, nodes, nothing, and lists of these. */
export type Child = Node | string | number | null | undefined | false | readonly Child[];
