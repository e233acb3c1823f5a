import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { MailPort, MailSession } from '../../../../commands/ports/mail-port.ts';
import type { MessageRef } from '../../../../commands/mail/message.ts';
import { rawBytes, ReceivedPart } from '../../../../commands/kernel/received-part.ts';
import { liveBuffers } from '../../../support/suite/live-buffers.ts';

const ref: MessageRef = { folder: { number: 1, path: 'INBOX' }, uidValidity: 1, uid: 1 };

/** A mail server with one message, and the number of its borrowed connections. */
class OneMessage implements Pick<MailPort, 'withMailbox'> {
  readonly #bytes: Buffer;
  lent = 0;
  borrowed = 0;
  /** Bytes read. */
  read = 0;
  /** Refuses a connection this many times. */
  busy = 0;
  isGone = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  async withMailbox<T>(_: string, __: unknown, work: (mail: MailSession) => Promise<T>): Promise<T> {
    if (this.busy > 0) {
      this.busy -= 1;
      throw new GatewayError('overloaded', 'All connections are busy.');
    }
    const session: Partial<MailSession> = {
      readBytes: (_ref, _path, offset, length) => {
        const piece = this.#bytes.subarray(offset, offset + length);
        this.read += piece.length;
        return Promise.resolve(this.isGone ? null : piece);
      },
    };
    this.lent += 1;
    this.borrowed += 1;
    try {
      return await work(session as MailSession);
    } finally {
      this.lent -= 1;
    }
  }
}

const TEN_MIB = Buffer.alloc(10 * 1024 * 1024, 'abcdefg');
const sourceOf = (mail: OneMessage) => ({ mail, mailboxId: 'mbx_1', ref });

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(piece);
  return Buffer.concat(read);
}

describe('ReceivedPart', () => {
  it('yields all bytes in order from any offset, over few borrowed connections', async () => {
    const mail = new OneMessage(TEN_MIB);
    expect((await whole(rawBytes(sourceOf(mail), null))).equals(TEN_MIB)).to.equal(true);
    expect(mail.borrowed).to.be.within(2, 5);
    expect(
      (await whole(rawBytes(sourceOf(mail), '1', 9_999_999))).equals(TEN_MIB.subarray(9_999_999)),
    ).to.equal(true);
    expect(await whole(rawBytes(sourceOf(mail), '1', TEN_MIB.length + 5))).to.have.length(0);
    expect(mail.lent).to.equal(0);
  });

  it('reads nothing ahead, and frees the connection when the reader is slow or gone', async () => {
    const mail = new OneMessage(TEN_MIB);
    const pieces = rawBytes(sourceOf(mail), null);
    const first = await pieces.next();
    expect(mail.read).to.equal(first.value?.length);
    await sleep(400);
    expect([mail.lent, mail.read]).to.deep.equal([0, first.value?.length]);
    await pieces.next();
    expect(mail.lent).to.equal(1);
    await pieces.return();
    await sleep(0);
    expect(mail.lent).to.equal(0);
    expect(mail.read).to.be.below(1_000_000);
  });

  it('waits for a connection when all are busy, then fails as overloaded', async () => {
    const mail = new OneMessage(TEN_MIB);
    mail.busy = 3;
    expect((await whole(rawBytes(sourceOf(mail), null))).length).to.equal(TEN_MIB.length);
    mail.busy = 100;
    const refusal = await whole(rawBytes(sourceOf(mail), null)).catch((error: unknown) => error);
    expect(refusal).to.have.property('code', 'overloaded');
  });

  it('fails with message_stale when the message disappears during the read', async () => {
    const mail = new OneMessage(TEN_MIB);
    const pieces = rawBytes(sourceOf(mail), null);
    await pieces.next();
    mail.isGone = true;
    const refusal = await whole(pieces).catch((error: unknown) => error);
    expect(refusal).to.have.property('code', 'message_stale');
    expect(mail.lent).to.equal(0);
  });

  it('decodes from any offset, and later offsets without starting at the beginning', async () => {
    const encoded = Buffer.from(TEN_MIB.toString('base64').replaceAll(/.{76}/g, '$&\r\n'));
    const mail = new OneMessage(encoded);
    const part = new ReceivedPart({
      ...{ part: 1, filename: null, contentType: 'x/y', size: 0, inline: false, contentId: null },
      ...{ path: '1', encoding: 'base64', charset: null, encodedSize: encoded.length },
    });
    const source = sourceOf(mail);
    expect(part.knownLength).to.equal(null);
    expect((await whole(part.read(source, 0))).equals(TEN_MIB)).to.equal(true);
    expect([part.knownLength, await part.length(source)]).to.deep.equal([TEN_MIB.length, TEN_MIB.length]);
    mail.read = 0;
    expect((await whole(part.read(source, 10_000_000))).equals(TEN_MIB.subarray(10_000_000))).to.equal(true);
    expect(mail.read).to.be.below(2_000_000);
  });

  it('remembers places without the pieces they are in', async () => {
    // A soft line break at the end of each piece: the carry is a byte of it.
    const piece = `${'a'.repeat(128 * 1_024 - 2)}=\n`;
    const encoded = Buffer.from(`a${piece.repeat(80)}`);
    const part = new ReceivedPart({
      ...{ part: 1, filename: null, contentType: 'x/y', size: 0, inline: false, contentId: null },
      ...{ path: '1', encoding: 'quoted-printable', charset: null, encodedSize: encoded.length },
    });
    const source = sourceOf(new OneMessage(encoded));
    const before = await liveBuffers();
    const length = 1 + 80 * (128 * 1_024 - 2);
    expect(await part.length(source)).to.equal(length);
    expect((await liveBuffers()) - before).to.be.below(1_048_576);
    expect(await whole(part.read(source, length - 5))).to.have.length(5);
  });
});
