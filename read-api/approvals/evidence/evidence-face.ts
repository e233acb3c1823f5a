/** Evidence of one approval as one page for people: printable, without anything active, with the file that proves it inside. Pure. */
import { createHash } from 'node:crypto';
import { escaped } from '../../../commands/html/html-markup.ts';
import { asHtml, visiblePieces } from '../../../commands/html/visible-text.ts';
import { type EvidenceLine, type Signature, signaturesIn, stepsIn, termsIn } from './evidence-facts.ts';

export interface EvidencePage {
  readonly approvalId: string;
  readonly organisation: string;
  readonly lines: readonly EvidenceLine[];
  /** How the gateway words the request when the page is made; null where this reader may not see it. */
  readonly preview: string | null;
  /** Of people and agents, when the page is made. */
  readonly nameOf: (id: string) => string | undefined;
  /** The signed note. */
  readonly note: string;
  readonly createdAt: string;
  /** The file. */
  readonly file: Buffer;
}

const html = (text: string): string => `<bdi>${asHtml(visiblePieces(text))}</bdi>`;
const block = (text: string): string =>
  `<pre>${asHtml(visiblePieces(text, { lines: true, max: 200_000 }))}</pre>`;
const row = (label: string, value: string): string => `<tr><th>${label}</th><td>${value}</td></tr>`;

/** Nothing in the page runs or loads. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

export function evidencePage(page: EvidencePage): string {
  const title = `Evidence of approval ${page.approvalId}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${STYLE}</style></head>
<body><main>
<h1>${html(title)}</h1>
<p>${html(page.organisation)}. Made ${html(page.createdAt)} from the audit trail of the gateway. Times are UTC, by its clock. Names are as they were when it was made.</p>
${requestOf(page)}
${votesOf(page)}
${stepsOf(page)}
${proofOf(page)}
${CERTIFICATE}
${linesOf(page)}
<details><summary>The file</summary>
<p>Save this text as evidence.jsonl, with nothing before it and nothing changed.</p>
<pre>${escaped(page.file.toString())}</pre></details>
</main></body></html>
`;
}

const named = ({ nameOf }: EvidencePage, id: string | null): string => {
  const name = id === null ? undefined : nameOf(id);
  return name === undefined ? html(id ?? 'nobody') : `${html(name)} (${html(id ?? '')})`;
};

function requestOf(page: EvidencePage): string {
  const { requester, requestedAt, contentHash, quorum, rule, policyVersion } = termsIn(page.lines);
  const policy =
    policyVersion === 0 ? 'the built-in policy' : `version ${html(String(policyVersion))} of the policy`;
  return `<section><h2>What was requested</h2><table>
${row('Requested by', named(page, requester))}
${row('At', html(requestedAt))}
${row('Hash of the content', html(contentHash))}
${row('Votes needed', html(String(quorum)))}
${row('Decided by', `rule ${html(rule)}, ${policy}`)}
</table>
${previewOf(page)}</section>`;
}

const previewOf = ({ preview }: EvidencePage): string =>
  preview === null
    ? '<p>The content is not shown here.</p>'
    : `<p>The wording is from when this file was made, and need not be what the voters saw.</p>
${block(preview)}`;

function votesOf(page: EvidencePage): string {
  const votes = signaturesIn(page.lines);
  if (votes.length === 0) return '<section><h2>Votes</h2><p>No votes.</p></section>';
  return `<section><h2>Votes</h2><table class="wide">
<tr><th>Name</th><th>Time</th><th>Meaning</th><th>Password given</th><th>Content opened</th><th>Reason</th></tr>
${votes.map((vote) => voteRow(page, vote)).join('\n')}
</table></section>`;
}

function voteRow(page: EvidencePage, vote: Signature): string {
  const cells = [
    named(page, vote.by),
    html(vote.at),
    html(
      `${vote.decision === 'approve' ? 'Approves' : 'Rejects'} exactly the content with the hash ${vote.contentHash}.`,
    ),
    vote.signedInAt === null
      ? 'not in this file'
      : `${html(vote.signedInAt)}, ${html(vote.age ?? '')} before`,
    vote.seenAt === null ? 'not in this file' : html(vote.seenAt),
    vote.reason === null ? (vote.hasReason ? 'not shown' : 'none given') : html(vote.reason),
  ];
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

function stepsOf({ lines }: EvidencePage): string {
  const steps = stepsIn(lines);
  if (steps.length === 0) return '<section><h2>What was done</h2><p>Nothing was begun.</p></section>';
  return `<section><h2>What was done</h2><table>
${steps.map(({ at, text, answer }) => row(html(at), `${html(text)}${answer === null ? '' : `<br>The server: ${html(answer)}`}`)).join('\n')}
</table></section>`;
}

function proofOf({ note, file }: EvidencePage): string {
  const hash = createHash('sha256').update(file).digest('hex');
  return `<section><h2>Proof</h2>
<p>This page is no proof: everyone can write such a page. The proof is the file below, with the public key of the gateway and a verifier that you trust. Take your own copy of
verify-audit.mjs, from the release and not from the gateway, take the key from where you trust it, and run:</p>
<pre>node verify-audit.mjs evidence.jsonl --key keys.txt</pre>
<p>It says which of the lines were signed, that the votes name the content, that different persons made the quorum before anything was done, and what is not proven. The checkpoint over these lines:</p>
${block(note)}
<table>${row('SHA-256 of the file', html(hash))}${row('Bytes of the file', html(String(file.length)))}</table></section>`;
}

const CERTIFICATE = `<section class="certificate"><h2>Certificate of the custodian</h2>
<p>I certify that this record was generated by an electronic process that produces an accurate result, and that the file with the hash above is a true copy of the record as it is kept.</p>
<table>${['Name', 'Position', 'Date', 'Signature'].map((label) => row(label, '')).join('')}</table></section>`;

const linesOf = (page: EvidencePage): string => `<section><h2>Lines of the trail</h2><table class="wide">
<tr><th>Line</th><th>Time</th><th>Event</th><th>By</th></tr>
${page.lines.map(({ seq, type, occurredAt, actor }) => `<tr><td>${String(seq)}</td><td>${html(occurredAt ?? '')}</td><td>${html(type)}</td><td>${named(page, actor.id)}</td></tr>`).join('\n')}
</table></section>`;

const STYLE = `
body { margin: 0; font: 11pt/1.45 system-ui, sans-serif; color: #111; background: #fff }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 1.6rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: start; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #ccc; font-weight: normal }
th { color: #555; width: 11rem } .wide th { width: auto }
pre { white-space: pre-wrap; background: #f5f5f5; padding: .6rem; margin: .5rem 0 }
.mark { color: #5b2c83 }
.certificate td { height: 1.6rem }
section { break-inside: auto } tr { break-inside: avoid }
@media print { details { display: none } main { max-width: none; padding: 0 } }
`;
