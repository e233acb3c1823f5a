/** A submission server that follows a test's script, and records what it really accepted. */
import type { ConnectionReport, HostSettings, MailLogin } from '../../../commands/ports/mail-port.ts';
import {
  type Acceptance,
  type RefusedRecipient,
  type SmtpEnvelope,
  type Submission,
  SubmissionFailure,
  type SubmissionFailureFacts,
  type SubmissionPort,
} from '../../../commands/ports/submission-port.ts';

/** The course of the next exchange. `lost` = the message was or was not accepted, and the answer is lost. */
export type Course =
  | {
      readonly kind: 'accept';
      readonly refused?: readonly string[];
      readonly replacedMessageId?: string;
    }
  | { readonly kind: 'fail'; readonly facts: SubmissionFailureFacts }
  | { readonly kind: 'lost'; readonly taken: boolean };

const later = (phase: 'connect' | 'envelope' | 'data'): Course => ({
  kind: 'fail',
  facts: {
    phase,
    verdict: 'later',
    code: 'mailbox_unavailable',
    smtpStatus: 451,
    response: '451 later',
    refused: [],
  },
});

export const LATER_AT_ENVELOPE = later('envelope');
export const LATER_AT_CONNECT = later('connect');
export const LATER_AT_DATA = later('data');
export const NEVER: Course = {
  kind: 'fail',
  facts: {
    phase: 'envelope',
    verdict: 'never',
    code: 'provider_rejected',
    smtpStatus: 550,
    response: '550 5.1.1 no such user',
    refused: [{ address: 'bob@example.org', smtpStatus: 550, response: '550 5.1.1 no such user' }],
  },
};

export interface Taken {
  readonly envelope: SmtpEnvelope;
  readonly raw: string;
  readonly needsSmtpUtf8: boolean;
}

export class FakeSubmission implements SubmissionPort {
  course: Course = { kind: 'accept' };
  /** Called at each step; an exception it throws is passed on. */
  at: (step: 'connect' | 'begin' | 'transmit' | 'answer') => void | Promise<void> = () => undefined;
  readonly taken: Taken[] = [];
  /** Connections that nobody closed. */
  open = 0;
  /** The arguments of each connection test; it never signs in. */
  readonly tested: { readonly settings: HostSettings; readonly login: MailLogin }[] = [];

  testLogin(settings: HostSettings, login: MailLogin): Promise<ConnectionReport> {
    this.tested.push({ settings, login });
    return Promise.resolve({ ok: false, stage: 'login', latencyMs: 5, error: 'refused' });
  }

  async connect(): Promise<Submission> {
    await this.at('connect');
    this.#failAt('connect');
    this.open += 1;
    let isOpen = true;
    let envelope: SmtpEnvelope = { from: '', to: [] };
    let needsSmtpUtf8 = false;
    return {
      begin: async (wanted, message) => {
        await this.at('begin');
        this.#failAt('envelope');
        envelope = wanted;
        needsSmtpUtf8 = message.needsSmtpUtf8;
        return this.#refused();
      },
      transmit: async (content) => {
        await this.at('transmit');
        const raw = await textOf(content);
        this.#failAt('data');
        return await this.#take({ envelope, raw, needsSmtpUtf8 });
      },
      close: () => {
        if (isOpen) this.open -= 1;
        isOpen = false;
      },
    };
  }

  #refused(): readonly RefusedRecipient[] {
    const refused = this.course.kind === 'accept' ? (this.course.refused ?? []) : [];
    return refused.map((address) => ({ address, smtpStatus: 550, response: '550 no' }));
  }

  async #take(message: Taken): Promise<Acceptance> {
    if (this.course.kind !== 'lost' || this.course.taken) this.taken.push(message);
    await this.at('answer');
    const replacedMessageId = this.course.kind === 'accept' ? (this.course.replacedMessageId ?? null) : null;
    if (this.course.kind !== 'lost') return { response: '250 queued', replacedMessageId };
    throw new SubmissionFailure('lost', {
      phase: 'data',
      verdict: 'unknown',
      code: 'mailbox_unavailable',
      smtpStatus: null,
      response: null,
      refused: [],
    });
  }

  #failAt(phase: string): void {
    if (this.course.kind === 'fail' && this.course.facts.phase === phase)
      throw new SubmissionFailure('refused', this.course.facts);
  }
}

/** A source that fails keeps its error, as a real connection ends before the final dot. */
async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of content) pieces.push(piece);
  } catch (error) {
    throw new SubmissionFailure(
      'cut short',
      {
        phase: 'data',
        verdict: 'later',
        code: 'store_unavailable',
        smtpStatus: null,
        response: null,
        refused: [],
      },
      error,
    );
  }
  return Buffer.concat(pieces).toString();
}
