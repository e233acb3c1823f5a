/** The facts that a policy decides on. */
import type { ActorKind } from '../kernel/access.ts';
import type { PolicyAction } from '../values/policy-document.ts';

/** One recipient of a send, as far as policy is concerned. */
export interface RecipientFacts {
  /** In ASCII and lower case. */
  readonly domain: string;
  /** True when the domain is in none of the policy's internal domains. */
  readonly external: boolean;
  readonly firstContact: boolean;
}

export interface AttachmentFacts {
  /** In `PolicyFacts` without parameters and in lower case, the form that rules are compared with. */
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
}

/** All facts that a rule can test. */
export interface PolicyFacts {
  /** At least one. */
  readonly actions: readonly PolicyAction[];
  readonly mailboxId: string;
  readonly actor: ActorKind;
  readonly principalId: string;
  /** The number of messages in the request. */
  readonly bulkCount: number;
  /** Null for a request that sends nothing. */
  readonly send: {
    readonly recipients: readonly RecipientFacts[];
    readonly attachments: readonly AttachmentFacts[];
    /** Header fields that the policy does not list; absent = none. */
    readonly unlistedHeaders?: readonly string[];
  } | null;
}
