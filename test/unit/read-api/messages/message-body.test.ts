import { expect } from 'chai';
import { bodyOf, showText } from '../../../../read-api/messages/message-body.ts';

describe('bodyOf', () => {
  it('is null with a reason when the HTML cannot be read within bounds', async () => {
    const html = { content: '<p>x', isHtml: true, totalChars: 4, truncated: false } as Parameters<
      typeof showText
    >[1];
    const markup = {
      read: () =>
        Promise.resolve({
          content: '', isCut: false, isUnreadable: true,
          hiddenChars: 0, smallChars: 0, faintChars: 0, remoteResources: 0, misleadingLinks: 0,
        }), // prettier-ignore
    } as unknown as Parameters<typeof showText>[0];
    const shown = await showText(markup, html, 'markdown', {});
    const window = { format: 'markdown', offset: 0, maxChars: 100 } as const;
    expect(bodyOf(shown, window)).to.deep.include({ preview: null, body: null });
    expect(bodyOf(shown, window).body_error?.code).to.equal('unreadable');
  });
});
