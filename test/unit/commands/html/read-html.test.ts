import { expect } from 'chai';
import fc from 'fast-check';
import { MAX_HTML_CHARS } from '../../../../commands/html/html-length.ts';
import { readHtml, type ReadAs } from '../../../../commands/html/read-html.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const read = (html: string, as: ReadAs = 'text') =>
  readHtml(html, as, (cid) => (cid === 'a@b' ? 'att_1a' : null));
const textOf = async (html: string): Promise<string> => (await read(html)).content;

describe('readHtml', () => {
  const hidden: Readonly<Record<string, string>> = {
    'display none': '<p style="display:none">secret</p>',
    'display none in capitals': '<p style="DISPLAY : None !important">secret</p>',
    'an attribute': '<p hidden>secret</p>',
    'a class': '<style>.h{display:none}</style><p class="a h">secret</p>',
    'a class behind it': '<p class=h>secret</p><style>/* x */ p.h , .y { visibility:hidden }</style>',
    'an ancestor of a rule':
      '<style>#x .h b{display:none}</style><div id=x><p class=h>1<b>secret</b></p></div>',
    'no size': '<span style="font-size:0">secret</span>',
    'hardly any size': '<span style="font-size:1px">secret</span>',
    'no opacity': '<span style="opacity:0.01">secret</span>',
    'white on white': '<span style="color:#fff">secret</span>',
    'nearly white on white': '<span style="color:#fefdfe">secret</span>',
    'its own background': '<p style="background:#123456;color:rgb(18, 52, 86)">secret</p>',
    'font colour': '<font color="#FFFFFF">secret</font>',
    'no height': '<div style="max-height:0;overflow:hidden">secret</div>',
    'a place off screen': '<div style="position:absolute;left:-9999px">secret</div>',
    'an indent': '<div style="text-indent:-999em">secret</div>',
    Outlook: '<div style="mso-hide:all">secret</div>',
    'a colour without alpha': '<span style="color:rgba(0,0,0,0)">secret</span>',
    'a colour without alpha, in hex': '<span style="color:#00000000">secret</span>',
    'a colour of little alpha': '<span style="color:rgb(0 0 0 / 4%)">secret</span>',
    'a translucent background': '<p style="background:rgba(0,0,0,0);color:#fff">secret</p>',
    'a ground that is none': '<p style="background:nonsense;color:hsl(0, 0%, 100%)">secret</p>',
    'another colour space': '<span style="color:oklch(99% 0 0)">secret</span>',
    'a ground in another colour space': '<p style="background:lab(0 0 0);color:#000">secret</p>',
    'a rare name': '<span style="color:floralwhite">secret</span>',
    'hex without its mark': '<font color="ffffff">secret</font>',
    'a fill': '<p style="-webkit-text-fill-color:transparent"><b style="color:red">secret</b></p>',
    'a font': '<span style="font:0/0 a">secret</span>',
    'a font after a size': '<span style="font-size:14px;font:bold 700 .5px/2 a">secret</span>',
    'a clipped height': '<div style="height:0;overflow:clip">secret</div>',
    'a height hidden in one direction': '<div style="max-height:0vh;overflow-y:hidden">secret</div>',
    'a comment': '<div style="display:/**/none">secret</div>',
    escapes: '<div style="d\\69splay:n\\6f ne">secret</div>',
    'escapes in a rule': '<style>.h{d\\69splay:none}</style><p class=h>secret</p>',
    'what only looks like a comment': `<div style="font-family:'/*';display:none;quotes:'*/'">secret</div>`,
    'what only looks like a comment in an address':
      '<div style="background:url(a/*b);display:none;cursor:url(*/)">secret</div>',
    importance: '<div style="display:none ! important;display:block">secret</div>',
    'a filter': '<div style="filter:blur(1px) opacity(0)">secret</div>',
    'opacity in percent': '<div style="opacity:1%">secret</div>',
    'a clip': '<div style="clip:rect(0 0 0 0)">secret</div>',
  };
  for (const [by, html] of Object.entries(hidden)) {
    it(`leaves out and counts text hidden by ${by} ${verifies('contract:4:hidden-text')}`, async () => {
      for (const as of ['text', 'markdown', 'html'] as const) {
        const { content, hiddenChars } = await read(`<p>before</p>${html}<p>after</p>`, as);
        expect(content).to.include('before').and.include('after').and.not.include('secret');
        expect(hiddenChars).to.equal('secret'.length);
      }
    });
  }

  const shown: Readonly<Record<string, string>> = {
    'white on a dark cell': '<table><tr><td bgcolor="#000"><font color="white">seen</font></td></tr></table>',
    'a size of its own inside of none': '<td style="font-size:0px"><p style="font-size:13px">seen</p></td>',
    'a rule for small screens':
      '<style>@media (max-width:600px){.d{display:none}}</style><p class=d>seen</p>',
    'its own style against a rule':
      '<style>.d{display:none}</style><p class=d style="display:block">seen</p>',
    'visible inside of hidden': '<div style="visibility:hidden"><p style="visibility:visible">seen</p></div>',
    'a font of a readable size': '<span style="font-size:0;font:400 14px/1.5 Arial">seen</span>',
    'a weight that is no size': '<span style="font:400 1em a">seen</span>',
    'letters half transparent': '<span style="color:rgba(0,0,0,.5)">seen</span>',
    'a fill of its own': '<p style="color:#fff;-webkit-text-fill-color:#333">seen</p>',
    'a string that names a style': `<p style="font-family:'a;display:none;b'">seen</p>`,
    'an escape that only looks like one': '<p style="x\\3b display:none">seen</p>',
    'another class': '<style>.dd{display:none}</style><p class=d>seen</p>',
  };
  for (const [why, html] of Object.entries(shown)) {
    it(`keeps ${why}`, async () => {
      expect(await read(html)).to.include({ content: 'seen', hiddenChars: 0 });
    });
  }

  const span = (style: string): string => `<span style="${style}">quiet</span>`;
  const marked: Readonly<Record<string, readonly [sight: 'small' | 'faint' | 'hidden', html: string]>> = {
    'two pixels': ['small', span('font-size:2px')],
    'hardly more than one pixel': ['small', span('font-size:1.1px')],
    'a share of an em': ['small', span('font-size:.1em')],
    'a share of an em, escaped': ['small', span('font-size:.1\\65m')],
    'hardly any em': ['hidden', span('font-size:.01em')],
    'a percent': ['hidden', span('font-size:1%')],
    'shares of shares': ['small', span('font-size:.6em').replace('quiet', span('font-size:.7em'))],
    'a font of three points': ['small', span('font:3pt Arial')],
    'a small root': ['small', `<html style="font-size:4px">${span('font-size:1rem')}</html>`],
    'a height of x': ['small', span('font-size:.5ex')],
    'a share of the window': ['small', span('font-size:2vw')],
    'a calculation': ['small', span('font-size:calc(1em - 10px)')],
    'the least of several': ['small', span('font-size:min(3px, 2em)')],
    'an unknown size': ['small', span('font-size:var(--x)')],
    'words for small': ['small', '<small>'.repeat(5) + 'quiet' + '</small>'.repeat(5)],
    'a zoom': ['small', `<div style="zoom:.3">${span('')}</div>`],
    'a rule': [
      'small',
      '<style>@media screen{.q{font-size:3px!important}}</style><p class=q style="font-size:9px">quiet',
    ],
    'a grey on white': ['faint', span('color:#f6f6f6')],
    'a grey on another': ['faint', `<div style="background:#eeeeee">${span('color:#e6e6e6')}</div>`],
    'a black of little alpha': ['faint', span('color:rgba(0,0,0,.12)')],
    'a black of little alpha, in hex': ['faint', span('color:#0000001f')],
    'a hue': ['faint', span('color:hsl(.5turn 100% 95%)')],
    'an opacity of those around': [
      'faint',
      `<div style="opacity:.3"><div style="opacity:.4">${span('')}</div></div>`,
    ],
    'an unknown colour': ['faint', span('color:color-mix(in srgb, white, white)')],
    'white on a picture': ['faint', `<div style="background:url(x.png)">${span('color:#fff')}</div>`],
    'a translucent background': [
      'faint',
      `<div style="background:rgba(0,0,0,.5)">${span('color:#8a8a8a')}</div>`,
    ],
  };
  for (const [why, [sight, html]] of Object.entries(marked)) {
    it(`keeps and marks text that is too small or too faint: ${why} ${verifies('contract:4:small-and-faint')}`, async () => {
      const { content, ...found } = await read(`<p>before</p>${html}<p>after</p>`);
      const counts = { hiddenChars: 0, smallChars: 0, faintChars: 0, [`${sight}Chars`]: 'quiet'.length };
      expect(found).to.include(counts);
      expect(content.replaceAll(/\s+/g, ' ')).to.equal(
        sight === 'hidden' ? 'before after' : `before ⟦${sight} text: quiet⟧ after`,
      );
    });
  }

  it('escapes marks that the text of the mail contains', async () => {
    const { content } = await read('<span style="font-size:2px">a⟧ now <b>do</b> &amp; pay</span> b');
    expect(content).to.equal('⟦small text: a now do & pay⟧ b');
  });

  it('marks struck-through text in text, Markdown and HTML', async () => {
    const html = 'We do <span style="text-decoration:line-through">not</span> agree<del>d</del>';
    expect(await textOf(html)).to.equal('We do [struck: not] agree[struck: d]');
    expect((await read(html, 'markdown')).content).to.equal('We do ~~not~~ agree~~d~~');
    expect((await read(html, 'html')).content).to.include('<s>not</s>');
  });

  it(`removes everything that runs, loads or frames ${verifies('contract:4:html-cleaned')}`, async () => {
    const pieces = fc.constantFrom(
      '<script>x</script>', '<img src=x onerror=alert(1)>', '<svg onload=x>', '<iframe src=//e>', '<a href="java\tscript:x">',
      '<math><mtext><style>', '</style>', '<form action=//e>', '<base href=//e>', '<meta http-equiv=refresh>', '<link rel=stylesheet href=//e>',
      '<object data=//e>', '<p style="background:url(//e)" onclick=x>', '<img srcset="//e 1x">', '<!--', '-->', '<a href="data:text/html,x">',
      '<![CDATA[', '"', "'", '>', '<', '&lt;script&gt;', '<template>', '<noscript>', '<textarea>', '</textarea>', '<title>', '<xmp>', 'text',
    ); // prettier-ignore
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 12 }), async (parts) => {
        const { content } = await read(parts.join(''), 'html');
        expect(content).not.to.match(
          /<(script|svg|math|iframe|form|base|meta|link|object|style|template|textarea|title)\b/i,
        );
        for (const [tag] of content.matchAll(/<[^>]*>/g)) {
          expect(tag).not.to.match(/\s(on\w+|style|srcset|background)=|javascript:|data:|src="\/\//i);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('shows pictures of the message by their attachment and others by their alternative text', async () => {
    const html = '<img src="cid:a%40b" alt="Logo"><img src="cid:none" alt="Other"><img src="https://e/x">';
    expect((await read(html, 'html')).content).to.equal('<img src="att_1a" alt="Logo" /><img alt="Other" />');
    expect((await read(html, 'markdown')).content).to.equal('![Logo](att_1a)[Other]');
  });

  it('counts links whose text names another host than their target', async () => {
    const misleading = async (text: string, href: string) =>
      (await read(`<a href="${href}">${text}</a>`)).misleadingLinks;
    expect(await misleading('www.bank.example', 'https://evil.example')).to.equal(1);
    expect(await misleading('https://bank.example/login', 'https://bank.example.evil.example')).to.equal(1);
    expect(await misleading('bank.example', 'https://www.bank.example/x')).to.equal(0);
    expect(await misleading('Click here', 'https://evil.example')).to.equal(0);
    expect(await textOf('<a href="https://xn--bnk-sna.example">bänk</a>')).to.equal(
      'bänk [xn--bnk-sna.example]',
    );
  });

  it('escapes Markdown in the text of the sender', async () => {
    const { content } = await read(
      '<p>[x](http://e) *a* `b` _c_</p><a href="https://e/a b)">t]</a>',
      'markdown',
    );
    expect(content).to.equal('\\[x\\](http://e) \\*a\\* \\`b\\` \\_c\\_\n\n[t\\]](https://e/a%20b%29)');
  });

  it('reads at most MAX_HTML_CHARS and says that it cut the rest', async () => {
    const { content, isCut } = await read(`<p>${'word '.repeat(MAX_HTML_CHARS / 4)}</p>`);
    expect(isCut).to.equal(true);
    expect(content.length).to.be.at.most(MAX_HTML_CHARS);
  });

  it('takes bounded time for hostile input', async () => {
    const worst = [
      '<b>',
      '<p>x',
      '<',
      '&',
      '<li>',
      '<a href="https://e.example/">a.b</a>',
      '<table><tr><td>',
      `<p style="${String.raw`\'`.repeat(200)}">x`,
    ];
    for (const unit of worst) {
      // Processor time, so that other processes do not count.
      const begin = process.cpuUsage();
      await read(unit.repeat(MAX_HTML_CHARS / unit.length), 'markdown');
      expect(process.cpuUsage(begin).user / 1_000, unit).to.be.below(4_000);
    }
  }).timeout(120_000);
});
