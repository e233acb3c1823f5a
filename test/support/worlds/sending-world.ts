/** A whole gateway that may send: a real Dovecot, a submission server, and a policy that lets people send. */
import { randomUUID } from 'node:crypto';
import { systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import { readPolicyDocument, setPolicy } from '../../../commands/policy/set-policy.ts';
import type { TestDovecot } from '../servers/dovecot.ts';
import { type Answer, eventually, startTestGateway, type TestGateway } from './gateway.ts';
import { withClient } from '../servers/mail-append.ts';

/** Waits that take minutes in production. */
export const QUICK_SENDS = {
  SEND_RETRY_AFTER_SECONDS: '1',
  SEND_JUDGE_AFTER_SECONDS: '2',
  SEND_OWN_COPY_WITHIN_SECONDS: '1',
};

export interface Copy {
  readonly messageId: string;
  readonly flags: readonly string[];
}

export class SendingWorld {
  readonly gateway: TestGateway;
  readonly mailboxId: string;
  readonly #dovecot: TestDovecot;

  private constructor(gateway: TestGateway, mailboxId: string, dovecot: TestDovecot) {
    this.gateway = gateway;
    this.mailboxId = mailboxId;
    this.#dovecot = dovecot;
  }

  /** The mailbox is `anna`'s, and submits at `smtpPort`. */
  static async open(
    dovecot: TestDovecot,
    smtpPort: number,
    env: Readonly<Record<string, string>> = {},
  ): Promise<SendingWorld> {
    const gateway = await startTestGateway({ env: { ...QUICK_SENDS, ...env } });
    const { ports } = gateway.gateway;
    const { orgId } = gateway.tokens;
    const document = readPolicyDocument(ports.directory.state, orgId, {
      rules: [
        { id: 'people', when: { actions: ['send'], actors: ['delegated'] }, then: { decision: 'allow' } },
      ],
    });
    await setPolicy(ports, systemAuthor(ports, orgId), orgId, document);
    const mailboxId = await gateway.addMailbox(dovecot.imap(), 'anna', smtpPort);
    return new SendingWorld(gateway, mailboxId, dovecot);
  }

  /** A draft to these people, with a unique subject. */
  async draft(
    to: readonly string[] = ['bob@example.com'],
  ): Promise<{ readonly id: string; readonly subject: string }> {
    const subject = `Mail ${randomUUID()}`;
    const answer = await this.gateway.rest(
      'POST',
      `/mailboxes/${this.mailboxId}/start_draft`,
      { to, subject, text: 'Hello.' },
      { key: randomUUID() },
    );
    if (answer.status !== 201) throw new Error(`no draft: ${JSON.stringify(answer.body)}`);
    return { id: (answer.body as { id: string }).id, subject };
  }

  send(draftId: string, key: string, token?: string): Promise<Answer> {
    return this.gateway.rest('POST', `/drafts/${draftId}/send_draft`, {}, { key, ...(token && { token }) });
  }

  async statusOf(draftId: string): Promise<string> {
    const answer = await this.gateway.rest('GET', `/drafts/${draftId}`);
    return (answer.body as { status: string }).status;
  }

  /** Resolves when the draft has the status; throws with the last one. */
  async waitForStatus(draftId: string, status: string, withinMs = 30_000): Promise<void> {
    await eventually(async () => {
      const now = await this.statusOf(draftId);
      if (now !== status) throw new Error(`the draft is ${now}, not ${status}`);
    }, withinMs);
  }

  /** Messages of this subject in a folder of a user. */
  copies(user: string, folder: string, subject: string): Promise<readonly Copy[]> {
    return withClient(this.#dovecot.imap(), user, async (client) => {
      await client.mailboxOpen(folder, { readOnly: true });
      const uids = await client.search({ subject }, { uid: true });
      if (!Array.isArray(uids) || uids.length === 0) return [];
      const found = await client.fetchAll(uids, { envelope: true, flags: true }, { uid: true });
      return found.map(({ envelope, flags }) => ({
        messageId: envelope?.messageId ?? '',
        flags: [...(flags ?? [])],
      }));
    });
  }

  stop(): Promise<void> {
    return this.gateway.stop();
  }
}
