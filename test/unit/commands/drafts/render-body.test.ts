import { expect } from 'chai';
import { renderBody, withAppendix } from '../../../../commands/drafts/render-body.ts';
import { GatewayError } from '../../../../commands/kernel/errors.ts';
import { thrown } from '../../../support/thrown.ts';

describe('the body of a draft', () => {
  it('is text as it was written, with one kind of line end', () => {
    expect(renderBody({ text: 'a\r\nb\rc\u0000 \ud800' })).to.deep.equal({
      text: 'a\nb\nc \ufffd',
      html: null,
      markdown: null,
    });
    expect(renderBody({})).to.equal(null);
  });

  it('is HTML without what runs, asks or loads pages', () => {
    const hostile = [
      '<script>x</script>', '<p onclick="x">a</p>', '<a href="javascript:x">b</a>', '<iframe src="//x"></iframe>', '<form><input></form>',
      '<style>@import "x"</style>', '<svg><script>x</script></svg>', '<math><mi xlink:href="data:x">c</mi></math>', '<img src="data:text/html,x">',
      '<object data="x"></object>', '<meta http-equiv=refresh>', '<base href="//x">', '<img src=x onerror=x>', '<a href="  JaVa\tScript:x">d</a>',
    ]; // prettier-ignore
    for (const html of hostile) {
      const body = renderBody({ html });
      expect(body?.html, html).not.to.match(
        /script|onclick|onerror|iframe|form|input|style|object|meta|base|data:/i,
      );
    }
    const kept = renderBody({
      html: '<p style="color:red">Hi <img src="cid:logo" alt="l"> <a href="https://x.example">x</a></p>',
    });
    expect(kept?.html)
      .to.include('style="color:red"')
      .and.include('cid:logo')
      .and.include('https://x.example');
    expect(kept?.text).to.match(/Hi.*x/);
  });

  it('is Markdown as HTML and as text', () => {
    const body = renderBody({ markdown: '# T\n\n- *a*\n\n<b onclick=x>raw</b>\n\n|a|b|\n|-|-|\n|1|2|' });
    expect(body?.html)
      .to.include('<h1>T</h1>')
      .and.include('<em>a</em>')
      .and.include('<b>raw</b>')
      .and.include('<table>');
    expect(body?.text).to.match(/T\n[^]*a[^]*raw/);
  });

  it('is not held up by Markdown made to hold it up', () => {
    const n = 50_000;
    const busy = ['*a', '_*', '`a', '[', '![', '<a ', '[](', '- ', '**a', '~~', '\n> '].map((piece) =>
      piece.repeat(n / piece.length),
    );
    const wide = `${'|a'.repeat(6_000)}\n${'|-'.repeat(6_000)}\n${'|b\n'.repeat(5_000)}`;
    for (const markdown of [...busy, wide]) {
      const cpuBefore = process.cpuUsage();
      renderBody({ markdown });
      const { user } = process.cpuUsage(cpuBefore);
      expect(user / 1_000, markdown.slice(0, 10)).to.be.below(3_000);
    }
    const deep = thrown(() => renderBody({ markdown: '>'.repeat(n) }));
    expect(deep).to.be.instanceOf(GatewayError).and.to.include({ code: 'invalid_request' });
  }).timeout(60_000);

  it('stands above what it quotes, in both parts, and nothing of that is read as HTML', () => {
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
    const below = withAppendix({ text: '', html: null, markdown: null }, { ...history, as: 'below' });
    expect(below.text).to.equal('On …, Bob <bob@x> wrote:\none\n\n> two <b>\n=?x?=\n');
  });
});
