import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { verifies } from '../support/suite/verifies.ts';

const text = readFileSync('docs/webhooks.md', 'utf8');
const block = (language: string): string => {
  const [, code] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(text) ?? [];
  if (code === undefined) throw new Error(`docs/webhooks.md has no block of ${language}`);
  return code;
};
const headers = Object.fromEntries(
  [...block('http').matchAll(/^(webhook-[a-z]+): (.*)$/gm)].map(([, name, value]) => [
    name ?? '',
    value ?? '',
  ]),
);
const body = block('text').trimEnd();
const [secret = ''] = /whsec_[A-Za-z0-9+/]{20,}=*/.exec(text) ?? [];
const PYTHON_THAT_WAS_RUN = 'a36b2bfba88bd143fff571fabb129940f1724f66be6e72c3a26277ec6275fd10';
const atMs = Number(headers['webhook-timestamp']) * 1_000;

describe('docs/webhooks.md', () => {
  it(`has a request that Standard Webhooks verifies ${verifies('contract:11:signature')}`, () => {
    const signature = new Webhook(secret).sign(headers['webhook-id'] ?? '', new Date(atMs), body);
    expect(headers['webhook-signature']).to.equal(signature);
    expect(body).to.match(/[^\u0000-\u007f]/);
  });

  it('has code for Node that accepts the request and refuses a changed one', async () => {
    const source = `data:text/javascript,${encodeURIComponent(block('js'))}`;
    const { isAuthentic } = (await import(source)) as {
      isAuthentic: (secret: string, headers: object, body: Buffer, now: number) => boolean;
    };
    const at = (changes: object = {}, sent = body, now = atMs): boolean =>
      isAuthentic(secret, { ...headers, ...changes }, Buffer.from(sent), now);
    expect(at()).to.equal(true);
    expect(at({ 'webhook-signature': `v1,AAAA ${headers['webhook-signature'] ?? ''}` })).to.equal(true);
    expect(at({}, `${body} `)).to.equal(false);
    expect(at({ 'webhook-id': 'evt_other' })).to.equal(false);
    expect(at({}, body, atMs + 301_000)).to.equal(false);
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
      expect(at({ [name]: undefined }), name).to.equal(false);
    expect(at({ 'webhook-timestamp': 'soon' })).to.equal(false);
  });

  it('has code for Python that accepts the request and refuses a changed one', () => {
    const given = { secret, headers, body, now: atMs / 1_000 };
    const script = `${block('python')}
import json, sys
given = json.loads(sys.stdin.buffer.read())
check = lambda body, headers=given["headers"]: is_authentic(given["secret"], headers, body.encode(), given["now"])
print(check(given["body"]), check(given["body"] + " "), check(given["body"], {}))`;
    const { stdout, error } = spawnSync('python3', ['-c', script], { input: JSON.stringify(given) });
    // Not every machine has Python: there the code must be the one that was run elsewhere.
    if (error === undefined) expect(stdout.toString().trim()).to.equal('True False False');
    expect(createHash('sha256').update(block('python')).digest('hex')).to.equal(PYTHON_THAT_WAS_RUN);
  });
});
