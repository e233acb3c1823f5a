import { expect } from 'chai';
import fc from 'fast-check';
import { markupWork } from '../../../../../infra/markup/markup-worker.ts';
import {
  changesBetween,
  lineDiff,
  renderChanges,
  type SendVersion,
} from '../../../../../read-api/approvals/preview/changes.ts';
import { sendManifest } from '../../../../support/samples/send-manifest.ts';

const version = (
  headers: Parameters<typeof sendManifest>[0],
  text: string,
  html: string | null = null,
): SendVersion => ({
  manifest: { ...sendManifest(headers), body_sha256: `${text}${html ?? ''}` },
  body: { text, html },
});

/** Removes and adds the lines, which must yield `after`. */
function patched(before: string, lines: ReturnType<typeof lineDiff>): string[] {
  const left = before.split('\n');
  for (const { change, text } of lines) if (change === 'removed') left.splice(left.indexOf(text), 1);
  return [...left, ...lines.filter(({ change }) => change === 'added').map(({ text }) => text)].sort();
}

describe('changesBetween', () => {
  it('returns nothing when the content is the same', async () => {
    expect(await changesBetween(markupWork, version({}, 'Hi'), version({}, 'Hi'))).to.deep.equal([]);
  });

  it('names every field that differs, before and after', async () => {
    const before = version({ subject: 'Plan' }, 'Hi');
    const after = version(
      {
        subject: 'Pl\u200ban',
        bcc: [{ name: null, email: 'eve@evil.example' }],
        reply_to: [{ name: 'Eve', email: 'eve@evil.example' }],
        from: { name: null, email: 'desk@example.com' },
        other: [{ name: 'X-A', value: '1' }],
      },
      'Hi',
    );
    const attachments = [{ filename: 'a.pdf', content_type: 'application/pdf', size: 3, sha256: 'ff' }];
    const changes = await changesBetween(markupWork, before, {
      ...after,
      manifest: { ...after.manifest, attachments },
    });
    expect(changes).to.deep.equal([
      { what: 'sender', before: 'From: anna@example.com — Anna\nEnvelope: anna@example.com', after: 'From: desk@example.com\nEnvelope: desk@example.com' },
      { what: 'recipients', before: 'To: bob@example.com — Bob', after: 'To: bob@example.com — Bob\nBcc: eve@evil.example' },
      { what: 'reply_to', before: '', after: 'eve@evil.example — Eve' },
      { what: 'subject', before: 'Plan', after: 'Pl⟦U+200B⟧an' },
      { what: 'headers', before: '', after: 'X-A: 1' },
      { what: 'attachments', before: '', after: 'a.pdf, application/pdf, 3 bytes, ff' },
    ]); // prettier-ignore
  });

  it('returns the lines of the text that differ, as the preview shows them', async () => {
    const html = (host: string) => `<p>Dear Bob</p><p><a href="https://${host}/">pay</a></p><p>Anna</p>`;
    const [change] = await changesBetween(
      markupWork,
      version({}, 'pay', html('bank.example')),
      version({}, 'pay', html('evil.example')),
    );
    expect(change).to.deep.equal({
      what: 'body',
      before: null,
      after: null,
      lines: [
        { change: 'removed', text: 'pay⟦link to bank.example: https://bank.example/⟧' },
        { change: 'added', text: 'pay⟦link to evil.example: https://evil.example/⟧' },
      ],
    });
  });

  it('says when only the formatting differs or a text was erased', async () => {
    const styled = await changesBetween(
      markupWork,
      version({}, 'a', '<p>a</p>'),
      version({}, 'a', '<p><b>a</b></p>'),
    );
    expect(styled).to.deep.equal([{ what: 'body', before: null, after: null, lines: [] }]);
    expect(renderChanges(styled).text).to.include('how it looks; no line of text');
    const erased = { ...version({}, 'b'), body: null };
    expect(await changesBetween(markupWork, version({}, 'a'), erased)).to.deep.equal([
      { what: 'body', before: null, after: null },
    ]);
  });

  it('is bounded, and says how many more lines there are', async () => {
    const lines = (word: string) =>
      Array.from({ length: 3_000 }, (_, at) => `${word} ${String(at)}`).join('\n');
    const [change] = await changesBetween(markupWork, version({}, lines('a')), version({}, lines('b')));
    expect(change?.lines).to.have.length(200);
    expect(change?.more_lines).to.equal(5_800);
    expect(renderChanges(change ? [change] : []).text).to.match(/5800 more lines$/);
  });

  it('renders text with a minus for removed and a plus for added lines', async () => {
    const changes = await changesBetween(markupWork, version({}, '<b>a</b>'), version({}, '<i>c</i>'));
    const { html, text } = renderChanges(changes);
    expect(text).to.equal('  Text:\n- <b>a</b>\n+ <i>c</i>');
    expect(html).to.include('<div class="removed">- &lt;b&gt;a&lt;/b&gt;</div>').and.not.include('<b>');
  });

  it('contains exactly the lines that turn one text into the other', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
      .map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after);
        expect(patched(before, lines)).to.deep.equal(after.split('\n').sort());
        if (before === after) expect(lines).to.deep.equal([]);
      }),
    );
  });
});
