/** Every benchmark: its name, what it measures, the sizes of a usual run, and what it runs on. */
import { measureMcpCall } from './b1-mcp-call.ts';
import { measureApproval } from './b11-approval.ts';
import { measureOpenApprovals } from './b12-open-approvals.ts';
import { measureIdleGateway } from './b13-idle-gateway.ts';
import { measureList } from './b10-list.ts';
import { measureQuery } from './b2-query.ts';
import { measureActions, type OperationsJob } from './b3-actions.ts';
import { measureEventStore } from './b4-event-store.ts';
import { measureFloors } from './floor.ts';
import { measureProjector } from './b5-projector.ts';
import { measureWebhooks } from './b6-webhooks.ts';
import { measureIdle } from './b7-idle.ts';
import { measureAttachments } from './b8-attachments.ts';
import { measureExport } from './b9-export.ts';
import { measureVerifier } from './b9-verify.ts';
import { ROUNDS } from './beside-raw.ts';
import { onDovecot } from './dovecot-mailbox.ts';
import type { Figure } from './figures.ts';
import type { LargeMailbox } from './large-mailbox.ts';
import type { DemoFacts } from './processes.ts';
import { measureRead } from './read-message.ts';

/** A running demo that serves one benchmark, or several that share what they run on. */
export interface Stage {
  readonly facts: DemoFacts;
  readonly pid: number;
  readonly dataDir: string;
}

type Figures = Promise<readonly Figure[]>;
type Sizes = readonly number[];

/**
 * What a benchmark runs on: nothing that is there already, a demo, mailboxes of many messages, or two beside
 * each other.
 */
type Work =
  | { readonly on: 'nothing'; readonly measure: (sizes: Sizes) => Figures }
  | { readonly on: 'demo'; readonly measure: (stage: Stage, sizes: Sizes) => Figures }
  | {
      readonly on: 'large mailboxes';
      readonly measure: (stage: Stage, mailboxes: readonly LargeMailbox[]) => Figures;
    }
  | { readonly on: 'mail site'; readonly measure: (job: OperationsJob) => Figures };

export type Bench = Work & {
  readonly name: string;
  readonly title: string;
  /** Of a usual run, in which each benchmark takes less than two minutes. Empty = there is but one. */
  readonly sizes: Sizes;
  /** Runs only when it is named: it takes longer than a usual run has room for. */
  readonly isLong?: true;
};

const LOG_SIZES = [100_000];
const MAILBOX_SIZES = [100_000];

export const BENCHES: readonly Bench[] = [
  {
    name: 'b1',
    title: 'MCP tools/call through the whole stack',
    sizes: [],
    on: 'demo',
    measure: ({ facts }) => measureMcpCall(facts),
  },
  {
    name: 'b2',
    title: 'email.query in a large mailbox',
    sizes: MAILBOX_SIZES,
    on: 'large mailboxes',
    measure: ({ facts }, mailboxes) => measureQuery(facts, mailboxes),
  },
  {
    name: 'b10',
    title: 'lists of a large mailbox',
    sizes: MAILBOX_SIZES,
    on: 'large mailboxes',
    measure: ({ facts, pid, dataDir }, mailboxes) => measureList(facts, mailboxes, { pid, dataDir }),
  },
  {
    name: 'b3',
    title: 'archive, flag and send',
    sizes: [ROUNDS],
    on: 'mail site',
    measure: measureActions,
  },
  {
    name: 'b11',
    title: 'an archive with an approval',
    sizes: [ROUNDS],
    on: 'mail site',
    measure: measureApproval,
  },
  {
    name: 'read',
    title: 'one message with text',
    sizes: [ROUNDS],
    on: 'mail site',
    measure: measureRead,
  },
  {
    name: 'floor',
    title: 'the steps of an operation that cannot be left out',
    sizes: [ROUNDS / 2],
    on: 'nothing',
    measure: ([rounds = 0]) => measureFloors(rounds),
  },
  {
    name: 'b4',
    title: 'appends and $all of the embedded node',
    sizes: LOG_SIZES,
    on: 'nothing',
    measure: measureEventStore,
  },
  {
    name: 'b5',
    title: 'the projector end to end, and B14, the sealing of audit trails',
    sizes: LOG_SIZES,
    on: 'nothing',
    measure: measureProjector,
  },
  {
    name: 'b6',
    title: 'webhooks',
    sizes: [],
    on: 'demo',
    measure: ({ facts, pid, dataDir }) => measureWebhooks(facts, { pid, dataDir }),
  },
  {
    name: 'b7',
    title: 'mailboxes that idle',
    sizes: [100],
    on: 'nothing',
    measure: ([mailboxes = 0]) => measureIdle(mailboxes),
  },
  {
    name: 'b8',
    title: 'attachments at once',
    sizes: [],
    on: 'demo',
    measure: ({ facts, pid }) => onDovecot(facts, (on) => measureAttachments(on, pid)),
  },
  {
    name: 'b9',
    title: 'export and verification of audit trails',
    sizes: LOG_SIZES,
    on: 'nothing',
    measure: async (sizes) => [...(await measureVerifier(sizes)), ...(await measureExport(sizes))],
  },
  {
    name: 'b12',
    title: 'GET /approvals with many open',
    sizes: [2_000],
    on: 'demo',
    measure: ({ facts }, [many = 0]) => onDovecot(facts, (on) => measureOpenApprovals(on, many)),
  },
  {
    name: 'b13',
    title: 'a gateway that nobody asks anything',
    sizes: [],
    isLong: true,
    on: 'nothing',
    measure: measureIdleGateway,
  },
];
