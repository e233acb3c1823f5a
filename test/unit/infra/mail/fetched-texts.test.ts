import { expect } from 'chai';
import type { FetchQueryObject, ImapFlow } from 'imapflow';
import type { ImapConnection } from '../../../../infra/mail/imap-connection.ts';
import { fetchTexts } from '../../../../infra/mail/message-text.ts';

const STRUCTURE = { part: '1', type: 'text/plain', size: 5, encoding: '7bit' };

/** A connection to one message, and what is asked of it. */
function connectionTo(text: string) {
  const asked: FetchQueryObject[] = [];
  const client = {
    fetchAll: (_uids: string, query: FetchQueryObject) => {
      asked.push(query);
      const bodyParts = new Map([['1', Buffer.from(text)]]);
      return Promise.resolve([{ seq: 1, uid: 7, bodyStructure: STRUCTURE, bodyParts }]);
    },
  };
  const run = (work: (client: ImapFlow) => Promise<unknown>) => work(client as unknown as ImapFlow);
  return { asked, connection: { run } as unknown as ImapConnection };
}

const REQUEST = { chars: 100, source: 'plain' } as const;

describe('fetchTexts', () => {
  it('asks for the text alone where the structure was fetched with the message', async () => {
    const { asked, connection } = connectionTo('Hello');
    const known = new Map([[7, STRUCTURE]]);
    const texts = await fetchTexts(connection, [7], REQUEST, known);
    expect(texts.get(7)).to.include({ content: 'Hello', truncated: false });
    expect(asked.map(({ bodyStructure }) => bodyStructure ?? false)).to.deep.equal([false]);
  });

  it('asks for the structure first where it is not known', async () => {
    const { asked, connection } = connectionTo('Hello');
    expect((await fetchTexts(connection, [7], REQUEST)).get(7)).to.include({ content: 'Hello' });
    expect(asked.map(({ bodyStructure }) => bodyStructure ?? false)).to.deep.equal([true, false]);
  });
});
