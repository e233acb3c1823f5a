/** What a policy decides on: everything a rule may look at. */
import type { ActorKind } from '../kernel/access.ts';
import type { PolicyAction } from '../values/policy-document.ts';

/** One recipient of a send, as far as policy is concerned. */
export interface RecipientFacts {
  /** In ASCII and lower case. */
  readonly domain: string;
  /** In none of the policy's internal domains. */
  readonly external: boolean;
  readonly firstContact: boolean;
}

export interface AttachmentFacts {
  /** In `PolicyFacts` without parameters and in lower case: what rules are compared with. */
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
}

/** Everything a rule may look at. */
export interface PolicyFacts {
  /** At least one. */
  readonly actions: readonly PolicyAction[];
  readonly mailboxId: string;
  readonly actor: ActorKind;
  readonly principalId: string;
  /** Messages the request is about. */
  readonly bulkCount: number;
  /** Null for whatever sends nothing. */
  readonly send: {
    readonly recipients: readonly RecipientFacts[];
    readonly attachments: readonly AttachmentFacts[];
    /** Header fields that the policy does not let go out; absent = none. */
    readonly unlistedHeaders?: readonly string[];
  } | null;
}
