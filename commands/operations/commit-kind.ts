/** What the commits of all approvals share, and what each kind of approval says of its own. */
import type { Author, Loaded } from '../kernel/decide-and-append.ts';
import type { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import type { ExpectedRevision } from '../ports/event-store.ts';
import type { Position } from '../values/position.ts';
import type { MailboxScope } from '../values/scopes.ts';
import type { Acting } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { OperationFact, OperationReply, OperationState } from './operation.ts';
import type { Invalidation } from './approval-events.ts';
import type { ApprovalState } from './approval-state.ts';
import type { Manifest } from './manifest.ts';
import type { Standing } from './requester.ts';

export interface Commit {
  readonly operationId: string;
  /** Of the events: whoever asked for the commit, or the gateway itself. */
  readonly author: Author;
  /** `schedule`: the moment the approval names has come; nobody is told of a delay. */
  readonly by: 'caller' | 'schedule';
  /** The approval as it was read a moment ago, where it was. */
  readonly loaded?: Loaded<OperationState>;
  notePosition(position: Position | null): void;
}

/** An approval that everything allows to be committed, at this revision of its stream. */
export interface Committable<Content extends Manifest = Manifest> extends Standing {
  readonly commit: Commit;
  readonly state: OperationState;
  readonly approval: ApprovalState;
  readonly revision: ExpectedRevision;
  readonly manifest: Content;
  readonly policy: PolicyDecision;
  /** Goes before the intent, in the same append at `revision`: that append is the lock against every other end. */
  readonly started: OperationFact;
}

export type Executed =
  | { readonly end: 'told'; readonly reply: OperationReply }
  /** Another writer was first, or somebody else runs it: everything is decided again. */
  | { readonly end: 'changed' }
  /** It can never be committed. */
  | { readonly end: 'invalid'; readonly reason: Invalidation; readonly refusal: GatewayError }
  /** Surely nothing was changed, and another attempt may succeed. Only before the intent. */
  | { readonly end: 'no_effect'; readonly refusal: GatewayError };

/** What is special about the commit of one kind of approval. */
export interface CommitKind<Content extends Manifest> {
  readonly kind: Content['kind'];
  /** What the requester has to hold now. */
  scopes(manifest: Content): readonly MailboxScope[];
  /** What policy says now of exactly this. Throws `store_unavailable`. */
  decide(ports: Ports, asked: Asked<Content>): Promise<PolicyDecision>;
  /**
   * What is gone of what it is about, null while all of it is there. With `asksServer` the mail server is asked, too: then it
   * throws what keeps the mailbox from answering.
   */
  lost(
    ports: Ports,
    ground: Standing & { readonly manifest: Content },
    asking: { readonly asksServer: boolean },
  ): Promise<Invalidation | null>;
  execute(ports: Ports, committable: Committable<Content>): Promise<Executed>;
}

export interface Asked<Content extends Manifest> {
  readonly acting: Acting;
  readonly orgId: string;
  readonly state: OperationState;
  readonly manifest: Content;
}
