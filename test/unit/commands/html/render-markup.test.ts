import { expect } from 'chai';
import { MarkupRefused } from '../../../../commands/html/markup-refused.ts';
import { type RenderedMarkup, renderMarkup } from '../../../../commands/html/written-markup.ts';

const rendered = ({
  html,
  markdown,
}: {
  readonly html?: string;
  readonly markdown?: string;
}): RenderedMarkup =>
  renderMarkup(
    markdown === undefined
      ? { format: 'html', source: html ?? '' }
      : { format: 'markdown', source: markdown },
  );

describe('renderMarkup', () => {
  it('removes from HTML what runs, submits or loads pages', () => {
    const hostile = [
      '<script>x</script>', '<p onclick="x">a</p>', '<a href="javascript:x">b</a>', '<iframe src="//x"></iframe>', '<form><input></form>',
      '<style>@import "x"</style>', '<svg><script>x</script></svg>', '<math><mi xlink:href="data:x">c</mi></math>', '<img src="data:text/html,x">',
      '<object data="x"></object>', '<meta http-equiv=refresh>', '<base href="//x">', '<img src=x onerror=x>', '<a href="  JaVa\tScript:x">d</a>',
    ]; // prettier-ignore
    for (const html of hostile) {
      const body = rendered({ html });
      expect(body.html, html).not.to.match(
        /script|onclick|onerror|iframe|form|input|style|object|meta|base|data:/i,
      );
    }
    const kept = rendered({
      html: '<p style="color:red">Hi <img src="cid:logo" alt="l"> <a href="https://x.example">x</a></p>',
    });
    expect(kept.html)
      .to.include('style="color:red"')
      .and.include('cid:logo')
      .and.include('https://x.example');
    expect(kept.text).to.match(/Hi.*x/);
  });

  const styled = (style: string, element = 'p'): string | undefined =>
    /style="([^"]*)"/.exec(rendered({ html: `<${element} style="${style}">a</${element}>` }).html)?.[1];

  it('removes styles that insert, load, move or cover text', () => {
    const hostile = [
      "list-style-type:'Wire EUR 9000'", "quotes:'Wire ' '.'", "content:'x'", 'background:url(https://e/x)', 'background:u\\72l(//e)',
      "background:image-set('//e' 1x)", 'background-image:url(cid:a)', 'position:absolute', 'transform:none', 'float:left', 'order:1',
      'direction:rtl', 'unicode-bidi:bidi-override', 'margin-top:-9px', 'margin:0 0 -1em', 'margin-left:9999px', 'margin-left:999em', 'text-indent:-9px',
      'opacity:0', 'height:0', 'overflow:hidden', 'line-height:0', 'line-height:1px', 'letter-spacing:-1em', 'vertical-align:-20px', 'display:list-item',
      'display:table-footer-group', 'c\\6flor:red', 'color:r\\65 d', 'color:/**/red', 'col/**/or:red', 'color:rgb(0x,0,0)', 'color:rgba(0,0,0)',
      'color:canvas', 'color:var(--x)', 'width:calc(1px - 9px)', 'font-family:Wingdings', "font-family:'a', Webdings", "font:12px 'a\\27 b'", 'text-transform:uppercase',
      '-webkit-text-fill-color:red', 'filter:none', 'clip-path:none', "font-family:'a", 'list-style-type:decimal',
    ]; // prettier-ignore
    for (const style of hostile) expect(styled(style), style).to.equal(undefined);
    expect(styled("list-style-type:'x'", 'li')).to.equal(undefined);
    expect(styled('display:block', 'li'), 'an item keeps its number').to.equal(undefined);
    expect(styled("color:red;content:'a;color:blue;b'")).to.equal('color:blue');
    expect(rendered({ html: '<font face="Webdings" color="red">a</font>' }).html).to.equal(
      '<font color="red">a</font>',
    );
  });

  it('keeps the styles of normal mail', () => {
    const kept = [
      'color:#333', 'color:rgba(1,2,3,.5)', 'background-color:WhiteSmoke', 'background:#fff', 'font-family:Arial,Segoe UI,sans-serif', "font-family:'Segoe UI',serif",
      'font-size:14px', 'font-size:1.2em', 'font-weight:600', 'font-style:italic', 'font:bold 14px/1.5 Arial,sans-serif', 'line-height:1.5', 'line-height:20px',
      'text-align:center', 'text-decoration:underline', 'vertical-align:top', 'white-space:pre-wrap', 'margin:0 auto', 'margin-top:10px', 'padding:0 2em 5% 3px',
      'border:1px solid #ccc', 'border-left:3px solid rgb(1,2,3)', 'border-radius:4px', 'border-collapse:collapse', 'width:100%', 'max-width:1200px', 'display:none', 'display:inline-block',
    ]; // prettier-ignore
    for (const style of kept) expect(styled(style.replaceAll('"', '&quot;')), style).to.equal(style);
    expect(styled('height:40px', 'td')).to.equal('height:40px');
    expect(styled('list-style:none', 'ul')).to.equal('list-style:none');
    expect(styled(' COLOR : rgb( 1 , 2, 3 ) !important; color : red ; ')).to.equal('color:red');
    expect(styled('color:blue;padding:1px;COLOR:rgb( 1 , 2, 3 ) !important')).to.equal(
      'padding:1px;color:rgb(1,2,3)',
    );
  });

  it('takes bounded time for a hostile style', () => {
    for (const piece of ['margin:', 'a,', '( ', "'", '\\', '/*', 'color:red;', '1px ', '   ']) {
      const cpuBefore = process.cpuUsage();
      rendered({ html: `<p style="font:${piece.repeat(200_000 / piece.length)}">a</p>`.repeat(3) });
      expect(process.cpuUsage(cpuBefore).user / 1_000, piece).to.be.below(1_000);
    }
  });

  it('renders Markdown as HTML and as text', () => {
    const body = rendered({ markdown: '# T\n\n- *a*\n\n<b onclick=x>raw</b>\n\n|a|b|\n|-|-|\n|1|2|' });
    expect(body.html)
      .to.include('<h1>T</h1>')
      .and.include('<em>a</em>')
      .and.include('<b>raw</b>')
      .and.include('<table>');
    expect(body.text).to.match(/T\n[^]*a[^]*raw/);
  });

  it('takes bounded time for hostile Markdown', () => {
    const n = 50_000;
    const busy = ['*a', '_*', '`a', '[', '![', '<a ', '[](', '- ', '**a', '~~', '\n> '].map((piece) =>
      piece.repeat(n / piece.length),
    );
    for (const markdown of busy) {
      const cpuBefore = process.cpuUsage();
      try {
        rendered({ markdown });
      } catch (error) {
        expect(error).to.be.instanceOf(MarkupRefused);
      }
      const { user } = process.cpuUsage(cpuBefore);
      expect(user / 1_000, markdown.slice(0, 10)).to.be.below(3_000);
    }
  }).timeout(120_000);

  it('renders many tables of normal size completely', () => {
    const table = `|a|b|c|\n|-|-|-|\n${'|1|2|3|\n'.repeat(500)}\n`;
    expect(rendered({ markdown: table.repeat(8) }).html.match(/<td>/g)).to.have.lengthOf(12_000);
  });
});
