import { expect } from 'chai';
import { renderBody, withAppendix } from '../../../../commands/drafts/draft-body.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { markupWork } from '../../../../infra/markup/markup-worker.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('renderBody', () => {
  it('keeps text as written, with one kind of line end', async () => {
    expect(await renderBody(markupWork, { text: 'a\r\nb\rc\u0000 \ud800' })).to.deep.equal({
      text: 'a\nb\nc \ufffd',
      html: null,
      markdown: null,
    });
    expect(await renderBody(markupWork, {})).to.equal(null);
  });

  it(`refuses a body with its path when it cannot be rendered within bounds ${verifies('contract:7:body-bounds')}`, async () => {
    const cases = [
      [
        { markdown: `${'|a'.repeat(55)}\n${'|-'.repeat(55)}\n${'|\n'.repeat(24_500)}` },
        'markdown',
        'too_large',
      ],
      [{ markdown: '>'.repeat(50_000) }, 'markdown', 'too_deep'],
      [{ html: '<ul><li>'.repeat(60_000) }, 'html', 'too_deep'],
      [{ html: '<div>'.repeat(101) }, 'html', 'too_deep'],
      [{ html: '< '.repeat(250_000) }, 'html', 'too_large'],
    ] as const;
    for (const [input, path, code] of cases) {
      const error = await rejection(renderBody(markupWork, input));
      expect(error).to.be.instanceOf(GatewayError).and.to.include({ code: 'invalid_request' });
      expect(error).to.have.nested.property('details.issues[0].path', path);
      expect(error).to.have.nested.property('details.issues[0].code', code);
      expect(error.message).not.to.include('report');
    }
  });

  it('puts the body above the quoted text in both parts, and escapes it', () => {
    const quoted = 'one\n\n> two <b>\n=?x?=';
    const history = { intro: 'On …, Bob <bob@x> wrote:', quoted, as: 'quote' as const };
    const plain = withAppendix({ text: 'Yes\n\n', html: null, markdown: null }, history);
    expect(plain.text).to.equal('Yes\n\nOn …, Bob <bob@x> wrote:\n> one\n>\n>> two <b>\n> =?x?=\n');
    expect(plain.html).to.equal(null);
    const both = withAppendix({ text: 'Yes', html: '<p>Yes</p>', markdown: 'Yes' }, history);
    expect(both.html)
      .to.include('Bob &lt;bob@x&gt;')
      .and.include('two &lt;b&gt;')
      .and.include('<blockquote type="cite">one<br>');
    const html = { ...history, as: 'below', quotedHtml: '<img src="cid:a@b" />' } as const;
    expect(withAppendix({ text: 'See <b>', html: null, markdown: null }, html).html)
      .to.match(/^<p>See &lt;b&gt;<\/p>\n<p>/)
      .and.include('<div><img src="cid:a@b" /></div>');
    const below = withAppendix({ text: '', html: null, markdown: null }, { ...history, as: 'below' });
    expect(below.text).to.equal('On …, Bob <bob@x> wrote:\none\n\n> two <b>\n=?x?=\n');
  });
});
