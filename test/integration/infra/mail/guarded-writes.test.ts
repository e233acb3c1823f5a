import { expect } from 'chai';
import type { MailSession } from '../../../../commands/ports/mail-port.ts';
import { BARE, NO_MOVE, requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { appendMessages, withClient } from '../../../support/servers/mail-append.ts';
import { ARCHIVE, INBOX, mailGateway } from '../../../support/worlds/mail-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const raw = 'From: a@example.com\r\nSubject: Guarded\r\nMessage-ID: <g@example.com>\r\n\r\nHello\r\n';

for (const capability of [undefined, NO_MOVE, BARE]) {
  describe(`the write guard on a server with ${capability ?? 'all extensions'}`, function () {
    this.timeout(60_000);
    let dovecot: TestDovecot;

    before(async function () {
      dovecot = await requireTestDovecot(this, capability === undefined ? {} : { capability });
      await appendMessages(dovecot.imap(), 'guard', [{ raw }]);
    });
    after(() => dovecot.dispose());

    it('blocks every command that changes something and allows reads', async () => {
      const { gateway, mail } = mailGateway(dovecot.imap(), 'guard');
      const { uidValidity } = await mail((session) => session.folderStatus(INBOX));
      const letter = Buffer.from(raw.replaceAll('Guarded', 'Appended'));
      const acts: ((session: MailSession) => Promise<unknown>)[] = [
        (session) => session.setFlags(INBOX, uidValidity, [1], { add: ['\\Flagged'], remove: [] }),
        (session) => session.copyMessages(INBOX, uidValidity, [1], ARCHIVE),
        (session) => session.append(ARCHIVE, letter, [], new Date()),
        // A server that can neither move nor expunge refuses a move before anything is written.
        ...(capability === BARE
          ? []
          : [
              (session: MailSession) => session.moveMessages(INBOX, uidValidity, [1], ARCHIVE),
              (session: MailSession) => session.expungeMessages(INBOX, uidValidity, [1]),
            ]),
      ];
      for (const act of acts) {
        const late = mail(async (session) => {
          session.guardWrites(() => {
            throw new Error('too late');
          });
          return await act(session);
        });
        expect((await rejection(late)).message).to.equal('too late');
      }
      const sight = await mail((session) => session.look(INBOX, uidValidity, [1]));
      expect(sight.flagsByUid.get(1)?.filter((flag) => flag !== '\\Recent')).to.deep.equal([]);
      const archived = await withClient(dovecot.imap(), 'guard', (own) =>
        own.status('Archive', { messages: true }),
      );
      expect(archived ? archived.messages : null).to.equal(0);
      const free = await mail((session) =>
        session.setFlags(INBOX, uidValidity, [1], { add: ['\\Flagged'], remove: [] }),
      );
      expect(free.get(1), 'the next borrower has no guard').to.include({ outcome: 'done' });
      gateway.close();
    });
  });
}
