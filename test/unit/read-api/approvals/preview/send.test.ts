import { expect } from 'chai';
import fc from 'fast-check';
import type { SendManifest } from '../../../../../commands/operations/manifest.ts';
import { type Rendered, renderDocument } from '../../../../../read-api/approvals/preview/document.ts';
import { sendWarnings } from '../../../../../commands/sending/send-warnings.ts';
import { type ApprovalWarning, worstFirst } from '../../../../../commands/operations/approval-warnings.ts';
import { domainsOf } from '../../../../../commands/policy/address-look.ts';
import { describeSend } from '../../../../../read-api/approvals/preview/send.ts';
import { markupWork } from '../../../../../infra/markup/markup-worker.ts';
import { verifies } from '../../../../support/suite/verifies.ts';
import { sendManifest } from '../../../../support/samples/send-manifest.ts';

const OF = { approvalId: 'chk_1', contentHash: 'c'.repeat(64) };

interface Given {
  readonly body?: { readonly html: string | null; readonly text: string } | 'altered' | null;
}

async function render(
  manifest: SendManifest,
  { body = { html: null, text: 'Hello' } }: Given = {},
): Promise<Rendered & { readonly warnings: readonly ApprovalWarning[] }> {
  const content = {
    mailboxAddress: 'anna@example.com',
    domains: domainsOf({ internal_domains: ['example.com'] }, 'anna@example.com'),
    body: body === null || body === 'altered' ? body : await markupWork.show(body),
  };
  const warnings = worstFirst(sendWarnings(manifest, content));
  return { ...renderDocument(describeSend(manifest, { ...content, warnings }), OF), warnings };
}

/** The text of the page as a person reads it. */
const wordsOf = (html: string): string =>
  html
    .replace(/^[\s\S]*<body>/, '')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');

interface Spoof {
  readonly headers?: Partial<SendManifest['headers']>;
  readonly attachment?: string;
  readonly text?: string;
  readonly html?: string;
  /** Appears in the page and in the text. */
  readonly shown: readonly string[];
  /** Appears in neither. */
  readonly never?: readonly string[];
}

const to = (email: string, name: string | null = null) => ({ headers: { to: [{ name, email }] } });

const SPOOFS: Readonly<Record<string, Spoof>> = {
  'a reversed name': {
    ...to('bob@example.com', 'Bob\u202emoc.elpmaxe@ssob'),
    shown: ['⟦U+202E⟧'],
    never: ['\u202e'],
  },
  'isolates in a subject': { headers: { subject: 'a\u2066b\u2069' }, shown: ['a⟦U+2066⟧b⟦U+2069⟧'], never: ['\u2066', '\u2069'] },
  'zero width letters': {
    headers: { subject: 'in\u200bvo\u200dice\ufeff\u00ad\u2060' },
    shown: ['in⟦U+200B⟧vo⟦U+200D⟧ice⟦U+FEFF⟧⟦U+00AD⟧⟦U+2060⟧'],
    never: ['\u200b', '\u200d', '\ufeff', '\u00ad', '\u2060'],
  },
  'tag characters': { text: 'ok\u{e0041}\u{e0042}', shown: ['ok⟦U+E0041⟧⟦U+E0042⟧'], never: ['\u{e0041}'] },
  'controls': { headers: { subject: 'a\u0007b\u0085c' }, shown: ['a⟦U+0007⟧b⟦U+0085⟧c'], never: ['\u0007', '\u0085'] },
  'data in variation selectors': { text: 'a\ufe01\u{e0100}', shown: ['a⟦U+FE01⟧⟦U+E0100⟧'], never: ['\ufe01'] },
  'blank letters': { headers: { subject: 'a\u3164\u2800b' }, shown: ['a⟦U+3164⟧⟦U+2800⟧b'] },
  'stacked marks': { headers: { subject: `a${'\u0301'.repeat(40)}` }, shown: ['⟦40 combining marks⟧'], never: ['\u0301\u0301'] },
  'a forged mark': { headers: { subject: '⟦U+202E⟧' }, shown: ['⟦U+27E6⟧U+202E⟦U+27E7⟧'] },
  'a Cyrillic domain': {
    ...to('ann@аррӏе.com'),
    shown: ['ann@xn--80ak6aa92e.com', 'written ann@аррӏе.com', 'looks like apple.com, which it is not; not Latin: “а” (U+0430, Cyrillic)', 'outside the organisation'],
  },
  'letters of two alphabets': { ...to('ann@pаypal.com'), shown: ['xn--pypal-4ve.com', 'letters of several alphabets'] },
  'an honest foreign domain': { ...to('zoe@bücher.example'), shown: ['zoe@xn--bcher-kva.example', 'written zoe@bücher.example'], never: ['alphabets'] },
  'a look-alike of our domain': { ...to('ann@exarnple.com'), shown: ['looks like example.com, which it is not'] },
  'our own domain with an accent': { ...to('ann@exámple.com'), shown: ['looks like example.com, which it is not'] },
  'a name that is another address': { ...to('eve@evil.example', 'ceo@example.com'), shown: ['the name shows another address', 'eve@evil.example'] },
  'a name that is its own address': { ...to('Bob@Example.com', 'bob@example.com'), shown: ['Bob@example.com'], never: ['another address'] },
  'hidden recipients': {
    headers: { bcc: [{ name: null, email: 'eve@evil.example' }] },
    shown: ['Hidden recipients (Bcc)', 'eve@evil.example', '1 recipient hidden from the others (Bcc)', '2 recipients, 1 of them outside the organisation'],
  },
  'replies to another address': {
    headers: { reply_to: [{ name: 'Anna', email: 'anna@evil.example' }] },
    shown: ['Answers go to another address than the one it is sent from', 'anna@evil.example'],
  },
  'another sender than the mailbox': {
    headers: { from: { name: 'CEO', email: 'ceo@example.com' } },
    shown: ['The sender shown is not the address of the mailbox'],
  },
  'two extensions': { attachment: 'invoice.pdf.exe', shown: ['two extensions: looks like .pdf and is .exe', 'a program'] },
  'a reversed extension': {
    attachment: 'invoice\u202efdp.exe',
    shown: ['invoice⟦U+202E⟧fdp.exe', 'a program or a shortcut (.exe)'],
    never: ['\u202e'],
  },
  'an extension far to the right': { attachment: `invoice.pdf${' '.repeat(90)}.scr`, shown: ['⟦90 spaces⟧', '.scr'] },
  'an extension with a blank in it': { attachment: 'plan.e\u200bxe', shown: ['(.exe)'], never: ['\u200b'] },
  macros: { attachment: 'list.xlsm', shown: ['may hold macros (.xlsm)'] },
  'a page': { attachment: 'login.html', shown: ['a web page'] },
  'an innocent attachment': { attachment: 'notes.v2.pdf', shown: ['notes.v2.pdf'], never: ['extensions', 'program'] },
  'text of no size': { html: '<p>Hi<span style="font-size:0">PAY NOW</span></p>', shown: ['Hi⟦hidden text:⟧PAY NOW⟦end of hidden text⟧', '7 characters of hidden text'] },
  'text not displayed': { html: '<div style="display:none"><b>secret</b></div>', shown: ['⟦hidden text:⟧secret'] },
  'white on white': { html: '<font color="#fefefe">secret</font>', shown: ['⟦hidden text:⟧secret'] },
  'a remote picture': {
    html: '<img src="https://track.evil.example/p.gif?u=1" alt="logo">',
    shown: ['⟦picture not loaded, from track.evil.example, instead of it: logo⟧', '1 picture would be loaded from other hosts'],
    never: ['p.gif', '<img'],
  },
  'a picture of a style': {
    html: '<div style="background:url(//track.evil.example/x)">hi</div>',
    shown: ['⟦picture not loaded, from track.evil.example⟧'],
  },
  'a link to another host': {
    html: '<a href="https://evil.example/login">https://bank.example</a>',
    shown: ['⟦link to evil.example, which is not the host its text names: https://evil.example/login⟧', '1 link to another host'],
    never: ['<a ', 'href'],
  },
  'a host before an at sign': { html: '<a href="https://bank.example@evil.example/">pay</a>', shown: ['link to evil.example:'] },
  'a look-alike link': {
    html: '<a href="https://аррӏе.com/x">pay</a>',
    shown: ['link to xn--80ak6aa92e.com (written аррӏе.com; looks like apple.com, which it is not; not Latin: “а” (U+0430, Cyrillic), “р” (U+0440, Cyrillic), “ӏ” (U+04CF, Cyrillic), “е” (U+0435, Cyrillic)): https://xn--80ak6aa92e.com/x'],
  },
  'a look-alike in the text': { text: 'Go to https://аррӏе.com/x', shown: ['аррӏе.com⟦xn--80ak6aa92e.com: looks like apple.com'] },
  'a script in a link': { html: '<a href="javascript:alert(1)">go</a>', shown: ['⟦link that cannot be followed: javascript:alert(1)⟧'] },
  'letters reversed by style': {
    html: '<bdo dir="rtl">moc.live</bdo>',
    shown: ['readers see the text that follows turned round', 'styles move, cover, turn round or write text'],
  },
  'letters of a hundredth': {
    html: '<p>We do <span style="font-size:.01em">not </span>accept</p>',
    shown: ['We do ⟦hidden text:⟧not ⟦end of hidden text⟧accept', '3 characters of hidden text'],
  },
  'letters of two pixels': {
    html: '<p>We do <span style="font-size:2px">not </span>accept</p>',
    shown: ['We do ⟦small text:⟧not ⟦end of small text⟧accept', '3 characters of text too small'],
  },
  'letters of a light grey': {
    html: '<p>We do <span style="color:rgba(0,0,0,.12)">not </span>accept</p>',
    shown: ['We do ⟦faint text:⟧not ⟦end of faint text⟧accept', '3 characters of text that hardly'],
  },
  'a word that is struck through': {
    html: '<p>We do <del>not</del> accept</p>',
    shown: ['| We do ⟦struck:⟧not⟦end of struck⟧ accept'],
  },
  'a bullet that is text': {
    html: `<ul><li style="list-style-type:'Wire EUR 9000 to DE00 '">Hello</li></ul>`,
    shown: ['⟦its style writes here: list-style-type: "Wire EUR 9000 to DE00 "⟧', 'styles move, cover, turn round or write text'],
  },
  'a bullet that is text, in escapes': {
    html: `<ul style="list-st\\79le:/**/'\\57ire'"><li>Hello</li></ul>`,
    shown: ['⟦its style writes here: list-style: "Wire"⟧'],
  },
  'quotation marks that are text': {
    html: `<q style="quotes:'Wire EUR 9000 ' '.'">Hello</q>`,
    shown: ['⟦its style writes here: quotes: "Wire EUR 9000 ""."⟧', '"Hello"'],
  },
  'text of a tooltip': { html: '<b title="Wire EUR 9000">Hello</b>', shown: ['⟦shown when pointed at: Wire EUR 9000⟧'] },
  'the number a list begins with': { html: '<ol start="9000"><li>EUR, please<li>or more</ol>', shown: ['9000. EUR, please', '9001. or more'] },
  'numbers of the items': { html: '<ol><li value=" 7x">a<li>b<ol><li>c</ol><li value="-2">d</ol>', shown: ['7. a', '8. b', '1. c', '-2. d'] },
  'a reversed list': { html: '<ol reversed><li>a<li style="display:none">x<li>b<li>c</ol>', shown: ['3. a', '2. b', '1. c'] },
  'letters of a list': { html: '<ol type="A" start="28"><li>a<li type="i" value="1994">b<li type="I" value="4000">c</ol>', shown: ['AB. a', 'mcmxciv. b', '4000. c'] },
  'a number in a list of bullets': { html: '<ul type="disc"><li>a<li type="1" value="9000">b</ul>', shown: ['9000. b'], never: ['1. a'] },
  'a picture of an escaped style': {
    html: '<p style="background:u\\72l(https://evil.example/x)">hi</p>',
    shown: ['⟦picture not loaded, from evil.example⟧', '1 picture would be loaded'],
  },
  'a picture of a set': {
    html: `<p style="background:image-set('https://evil.example/x' 1x)">hi</p><img srcset="a.png 1x, https://evil.example/y 2x">`,
    shown: ['⟦picture not loaded, from evil.example⟧', '2 pictures would be loaded'],
  },
  'a picture without slashes': { html: '<img src="https:evil.example/x"><p style="background:cross-fade(url(\\\\\\\\evil.example/x), red)">', shown: ['2 pictures would be loaded'] },
  'numbers from right to left': { html: '<p dir="rtl">100 - 900 EUR</p>', shown: ['⟦readers see the text that follows turned round⟧100 - 900', 'styles move, cover, turn round'] },
  'numbers from right to left, by style': { html: '<p style="dir\\65 ction:rtl">100 - 900</p>', shown: ['⟦readers see the text that follows turned round⟧100'] },
  'Hebrew from right to left': { html: '<p dir="rtl">שלום <b>100</b></p>', shown: ['שלום 100'], never: ['turned round'] },
  'an honest border': { html: '<p style="border:1px solid red;margin:0 auto">Hi</p>', shown: ['Hi'], never: ['styles move'] },
  'text in a comment of a style': { html: '<p style="display:/**/none">secret</p>', shown: ['⟦hidden text:⟧secret'] },
  'a layer over the page': {
    html: '<div style="position:fixed;top:0;left:0;z-index:9">Approved by the gateway</div>',
    shown: ['| Approved by the gateway', 'styles move, cover'],
    never: ['position:fixed', 'z-index'],
  },
  'an end of the fence': {
    text: 'Hi\nEnd of the message.\nApproval chk_2 is granted.',
    shown: ['| End of the message.\n| Approval chk_2 is granted.'],
  },
  'tags in a text': { text: '</div></section><h1>Approved</h1>', shown: ['</div></section><h1>Approved</h1>'], never: ['<h1>Approved'] },
  'tags in a name': { ...to('bob@example.com', '<img src=x onerror=alert(1)>'), shown: ['<img src=x onerror=alert(1)>'], never: ['<img src'] },
  'a form': { html: '<form action="https://evil.example"><input value="x"><button>Approve</button></form>', shown: ['Approve'], never: ['<form', '<input', '<button'] },
}; // prettier-ignore

describe('describeSend', () => {
  for (const [name, spoof] of Object.entries(SPOOFS)) {
    it(`shows ${name} in the preview`, async () => {
      const manifest = sendManifest(spoof.headers);
      const attachments =
        spoof.attachment === undefined
          ? []
          : [
              {
                filename: spoof.attachment,
                content_type: 'application/pdf',
                size: 9,
                sha256: 'd'.repeat(64),
              },
            ];
      const body = { html: spoof.html ?? null, text: spoof.text ?? 'Hello' };
      const { html, text } = await render({ ...manifest, attachments }, { body });
      for (const shown of spoof.shown) {
        expect(text).to.include(shown);
        if (!shown.startsWith('|')) expect(wordsOf(html)).to.include(shown);
      }
      for (const never of spoof.never ?? []) {
        expect(html).not.to.include(never);
        if (!never.startsWith('<')) expect(text).not.to.include(never);
      }
    });
  }

  it('describes the recipients in words before the content of the mail', async () => {
    const { html, text } = await render(sendManifest());
    expect(text.split('\n')[0]).to.equal('One message will be sent to 1 recipient, inside the organisation.');
    expect(text).to.include('To: bob@example.com (called “Bob”)');
    expect(text).to.include('Size: 2.0 KiB (2048 bytes), no attachments');
    expect(text).to.include(`Approval chk_1, content hash ${OF.contentHash}.`);
    expect(text).not.to.include('WARNING');
    expect(html).to.match(/^<!doctype html>/);
    expect(html).to.include(`content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"`);
  });

  it('shows no text that differs from the text to be sent, and says so', async () => {
    const altered = await render(sendManifest(), { body: 'altered' });
    expect(altered.text).to.include('WARNING: The stored text is not the one that the approval is for');
    const erased = await render(sendManifest(), { body: null });
    expect(erased.text).to.include('was erased');
  });

  it(`lists every warning, the most severe first ${verifies('contract:9:warnings')}`, async () => {
    const bcc = { name: null, email: 'archive@outside.example' };
    const manifest = sendManifest({
      to: [{ name: 'Anna <anna@example.com>', email: 'billing@ехample.com' }],
      bcc: [bcc],
      subject: 'Inv\u202eoice',
    });
    const attachments = [{ filename: 'a.pdf.exe', content_type: 'application/pdf', size: 1, sha256: 'e' }];
    const html =
      '<p>We do <i style="font-size:2px">not</i> pay <a href="https://e.example">bank.example</a>\u200b<img src="https://t.example/x"></p>';
    const { warnings, text } = await render({ ...manifest, attachments }, { body: { html, text: 'a' } });
    expect(warnings.map(({ code, severity }) => `${severity} ${code}`)).to.deep.equal([
      'high look_alike',
      'high spoofed_name',
      'high invisible_characters',
      'high hidden_text',
      'high misleading_link',
      'high attachment_danger',
      'high attachment_danger',
      'medium attachment_type',
      'medium hidden_recipients',
      'medium external_recipients',
      'medium remote_content',
      'low invisible_characters',
    ]);
    for (const warning of warnings) expect(text).to.include(`WARNING: ${warning.text}`);
    const all = warnings.map((warning) => warning.text).join('\n');
    expect(all).to.include('looks like example.com, which it is not; not Latin: “е” (U+0435, Cyrillic)');
    expect(all)
      .to.include('archive@outside.example')
      .and.include('Inv⟦U+202E⟧oice')
      .and.not.include('\u202e');
    expect((await render(sendManifest())).warnings).to.deep.equal([]);
  });

  it('names a recipient that is in no header field', async () => {
    const manifest = sendManifest();
    const { text } = await render({
      ...manifest,
      envelope: { ...manifest.envelope, to: ['bob@example.com', 'eve@evil.example'] },
    });
    expect(text).to.match(/Named in no field: eve@evil\.example .*outside the organisation/);
    expect(text).to.include('1 recipient in the envelope, but in no field of the message');
  });

  const hostile = fc.string({
    unit: fc.oneof(
      fc.constantFrom('<', '>', '"', "'", '&', '\u202e', '\u200b', '⟦', '\n', ' ', '\u{e0041}', '\u0301', '<script>', '<img src=x onerror=y>', '</div>', '<style>', '-->'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
    maxLength: 60,
  }); // prettier-ignore

  it('contains no markup of the mail', async () => {
    const OWN = new Set(
      (
        'html head meta title style body main header footer section p h1 h2 h3 div span strong bdi dl dt dd blockquote pre ul ol li ' +
        'table tr td th b i em u s del code sub sup br hr'
      ).split(' '),
    );
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (one, two, three) => {
        const manifest = sendManifest({
          subject: one,
          to: [{ name: two, email: `${three.replaceAll('@', '')}@example.com` }],
          other: [{ name: 'X-A', value: two }],
        });
        const attachments = [{ filename: three, content_type: one, size: 1, sha256: 'e' }];
        for (const body of [
          { html: null, text: one + two },
          { html: one + three, text: two },
        ]) {
          const { html, text } = await render({ ...manifest, attachments }, { body });
          const afterStyle = html.slice(html.indexOf('</head>'));
          for (const [, name = ''] of afterStyle.matchAll(/<\/?([^\s>]*)/g))
            expect(OWN.has(name), name).to.equal(true);
          for (const [tag] of afterStyle.matchAll(/<[^>]*>/g))
            expect(tag).to.match(/^<(?:main tabindex="0"|\/?[a-z0-9]+(?: class="[a-z ]*")?)>$/);
          expect(html + text).not.to.match(
            /[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2060-\u2064\ufeff\u00ad\u0000-\u0008\u000b-\u001f\u007f-\u009f]/,
          );
          expect(html + text).not.to.match(/[\u{e0000}-\u{e007f}]/u);
          expect((html + text).isWellFormed()).to.equal(true);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('stays within bounds, and says what it leaves out', async () => {
    const worst = [
      'a\u202e',
      'аррӏе.com ',
      '<b>',
      '<a href="https://x.example">',
      '<p style="display:none">x',
      '&#8203;a',
      'a.',
    ];
    for (const piece of worst) {
      const large = piece.repeat(Math.ceil(600_000 / piece.length));
      const { html, text } = await render(sendManifest(), { body: { html: large, text: large } });
      expect(html.length, piece).to.be.at.most(4_000_000);
      expect(text.length, piece).to.be.at.most(4_000_000);
      expect(text).to.include('longer than what is shown here of it');
    }
  }).timeout(120_000);

  it('takes bounded time for a hostile style', async () => {
    for (const piece of ['margin:', "'", '\\\\', '/*', 'url( ', ' //', '(', ' ']) {
      const style = piece.repeat(Math.floor(400_000 / piece.length));
      const cpuBefore = process.cpuUsage();
      await render(sendManifest(), { body: { html: `<p style="background:url(${style}">a</p>`, text: 'a' } });
      await render(sendManifest(), { body: { html: `<p style="${style}">a</p>`, text: 'a' } });
      expect(process.cpuUsage(cpuBefore).user / 1_000, piece).to.be.below(1_000);
    }
  });
});
