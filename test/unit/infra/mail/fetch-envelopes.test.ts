import { expect } from 'chai';
import type { FetchMessageObject, ImapFlow } from 'imapflow';
import { fetchEnvelopes } from '../../../../infra/mail/fetch-envelopes.ts';
import type { ImapConnection } from '../../../../infra/mail/imap-connection.ts';

/** A folder of one message: the subject as the client read it, and the header as it was sent. */
function folderOf(subject: string, header: string) {
  const asked: string[] = [];
  const fetchAll = (_: unknown, { headers }: { readonly headers?: unknown }): Promise<unknown> => {
    asked.push(headers === undefined ? 'envelope' : 'header');
    return Promise.resolve([{ uid: 1, envelope: { subject }, headers: Buffer.from(header, 'latin1') }]);
  };
  const run = (work: (client: ImapFlow) => unknown): unknown => work({ fetchAll } as unknown as ImapFlow);
  const read = async (): Promise<FetchMessageObject | undefined> =>
    (await fetchEnvelopes({ run } as unknown as ImapConnection, [1], { uid: true, envelope: true }))[0];
  return { asked, read };
}

describe('fetchEnvelopes', () => {
  it('takes bounded time for long texts', async () => {
    for (const long of ['+'.repeat(200_000), 'a+'.repeat(100_000), `${'+'.repeat(200_000)}-`]) {
      const { read } = folderOf(long, 'Subject: read again\r\n\r\n');
      const begin = process.cpuUsage();
      await read();
      expect(process.cpuUsage(begin).user / 1_000, long.slice(0, 4)).to.be.below(2_000);
    }
  });

  it('reads the header again when the client left UTF-7 in a text', async () => {
    for (const subject of ['Gr+APwA3w-e', '+APwA3w-', 'a+b+APwA3w-', 'two\u001b$)C words', '~{<:Ky2;~}']) {
      const { asked } = await folderAfter(subject);
      expect(asked, subject).to.deep.equal(['envelope', 'header']);
    }
    for (const subject of ['1+1=2', 'a+b-c', 'C++-', 'user+tag@example.org', 'a-b+']) {
      const { asked } = await folderAfter(subject);
      expect(asked, subject).to.deep.equal(['envelope']);
    }
  });

  it("keeps the client's text when the header is too large to read", async () => {
    const header = `To: ${'anna@example.com,\r\n '.repeat(70_000)}bob@example.com\r\nSubject: x\r\n\r\n`;
    const { read } = folderOf('Gr\ufffdn', header);
    expect((await read())?.envelope?.subject).to.equal('Gr\ufffdn');
  });
});

async function folderAfter(subject: string) {
  const folder = folderOf(subject, 'Subject: read again\r\n\r\n');
  await folder.read();
  return folder;
}
