/** What the commits of all approvals share, and what each kind of approval defines. */
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
  /** Of the events: the caller of the commit, or the gateway. */
  readonly author: Author;
  /** `schedule`: the scheduled time has come; no caller waits for the answer. */
  readonly by: 'caller' | 'schedule';
  /** The approval as read just before, if the caller has it. */
  readonly loaded?: Loaded<OperationState>;
  notePosition(position: Position | null): void;
}

/** A revalidated approval that may be committed, at this revision of its stream. */
export interface Committable<Content extends Manifest = Manifest> extends Standing {
  readonly commit: Commit;
  readonly state: OperationState;
  readonly approval: ApprovalState;
  readonly revision: ExpectedRevision;
  readonly manifest: Content;
  readonly policy: PolicyDecision;
  /** Goes before the intent, in the same append at `revision`: the lock against every other end. */
  readonly started: OperationFact;
}

export type Executed =
  | { readonly end: 'told'; readonly reply: OperationReply }
  /** Another writer was first, or another process runs it: everything is decided again. */
  | { readonly end: 'changed' }
  /** It can never be committed. */
  | { readonly end: 'invalid'; readonly reason: Invalidation; readonly refusal: GatewayError }
  /** Certainly nothing was changed, and another attempt may succeed. Only before the intent. */
  | { readonly end: 'no_effect'; readonly refusal: GatewayError };

/** What differs between the commits of different kinds of approval. */
export interface CommitKind<Content extends Manifest> {
  readonly kind: Content['kind'];
  /** The scopes the requester must hold now. */
  scopes(manifest: Content): readonly MailboxScope[];
  /** The present policy decision on exactly this. Throws `store_unavailable`. */
  decide(ports: Ports, asked: Asked<Content>): Promise<PolicyDecision>;
  /**
   * What is gone of the approved content; null while all of it is there. With `asksServer` it also asks the
   * mail server, and throws the error that keeps the mailbox from answering.
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
