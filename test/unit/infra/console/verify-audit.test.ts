/** The verifier of audit files as a module, as a page imports it. */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  canonicalJson,
  hashOf,
  isSigned,
  leafHash,
  lineOf,
  parsed,
  parseNote,
  sentences,
  Sha256,
  Tree,
  verifyAudit,
} from '../../../../infra/console/verify-audit.mjs';
import { altered, answerOf, optionsOf, sevenLines } from '../../../support/audit/audit-case.ts';
import { cases } from '../../../support/audit/cases.ts';
import { type Flip, flippable, flipsOf, withFlipped } from '../../../support/audit/flipped.ts';
import { sampleKey, sha256, signedNote } from '../../../support/audit/sample-keys.ts';
import { canonical, fileOf, KEY, SampleTrail, treeHash } from '../../../support/audit/sample-trail.ts';

async function* inPieces(file: Uint8Array, size = file.length): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += size) yield await Promise.resolve(file.subarray(at, at + size));
}
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

describe('verifier of audit files', function () {
  this.timeout(120_000);

  for (const one of cases)
    it(`answers ${String(one.exit)} ${one.code ?? ''}: ${one.name}`, async () => {
      const { exit, code, record, offset } = await verifyAudit(inPieces(one.file), optionsOf(one));
      expect({ exit, code, record, offset }).to.deep.equal(answerOf(one));
    });

  it('reads a file in pieces of any size', async () => {
    const file = altered(() => undefined);
    for (const size of [1, 2, 7, 100, 4096]) {
      const { exit, code } = await verifyAudit(inPieces(file, size), { keys: [KEY.vkey] });
      expect({ exit, code }, String(size)).to.deep.equal({ exit: 0, code: null });
    }
  });

  for (const { name, file, bits } of flippable)
    it(`proves no file ${name} in which a bit of any byte was flipped`, async () => {
      expect((await verifyAudit(inPieces(file), { keys: [KEY.vkey] })).exit).to.equal(0);
      const proven: number[] = [];
      const verified = async (flip: Flip): Promise<void> => {
        const { exit } = await verifyAudit(inPieces(withFlipped(file, flip)), { keys: [KEY.vkey] });
        if (exit !== 1 && exit !== 2) proven.push(flip.at);
      };
      for (const some of flipsOf(file, bits)) await Promise.all(some.map(verified));
      expect(proven).to.deep.equal([]);
    });

  it('proves no file in which one byte is another', async () => {
    const file = altered(() => undefined);
    await fc.assert(
      fc.asyncProperty(fc.nat(file.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const other = Buffer.from(file);
        other.writeUInt8((other.readUInt8(at) + by) % 256, at);
        expect((await verifyAudit(inPieces(other), { keys: [KEY.vkey] })).exit).to.be.oneOf([1, 2]);
      }),
      { numRuns: 300 },
    );
  });

  it('says in sentences what is proven and what is not', async () => {
    for (const one of cases) {
      const said = sentences(await verifyAudit(inPieces(one.file), optionsOf(one))).join('\n');
      expect(said, one.name).to.match(
        [/^PROVEN/, /^NOT PROVEN: record \d+, at byte \d+/, /^Not verified/, /^TRUE, BUT LESS/][one.exit] ??
          /^$/,
      );
      expect(said, one.name).not.to.match(/undefined|null|NaN/);
      if (one.exit === 0) expect(said, one.name).to.contain('NOT proven');
    }
  });
});

describe('hashes of the verifier', () => {
  it('matches SHA-256 of Node', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (parts) => {
        const own = new Sha256();
        const other = createHash('sha256');
        for (const part of parts) {
          own.update(part);
          other.update(part);
        }
        expect(base64(own.digest())).to.equal(other.digest('base64'));
      }),
    );
    for (let size = 0; size < 200; size++)
      expect(base64(hashOf(new Uint8Array(size)))).to.equal(base64(sha256(new Uint8Array(size))));
  });

  it('folds any tiling to the root of RFC 6962', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 70 }),
        fc.infiniteStream(fc.nat(6)),
        (leaves, levels) => {
          const tree = new Tree();
          const hashes = leaves.map((leaf) => Buffer.from(leaf));
          while (tree.size < hashes.length) {
            let level: number = levels.next().value as number;
            while (tree.size % 2 ** level !== 0 || tree.size + 2 ** level > hashes.length) level--;
            tree.push(level, treeHash(hashes, tree.size, tree.size + 2 ** level));
          }
          expect(tree.root()).to.equal(base64(treeHash(hashes)));
        },
      ),
      { numRuns: 500 },
    );
  });

  /** The roots that implementations of RFC 6962 test with. */
  it('gives the known roots of Certificate Transparency', () => {
    const inputs = [
      '',
      '00',
      '10',
      '2021',
      '3031',
      '40414243',
      '5051525354555657',
      '606162636465666768696a6b6c6d6e6f',
    ];
    const roots = [
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
      'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
      '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
      'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
      '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
    ];
    const tree = new Tree();
    const found = [tree.root()];
    for (const input of inputs) {
      tree.push(0, hashOf(Uint8Array.of(0), Buffer.from(input, 'hex')));
      found.push(tree.root());
    }
    expect(found).to.deep.equal(roots.map((root) => Buffer.from(root, 'hex').toString('base64')));
  });

  it('gives the measured leaves, root, key and signature', async () => {
    const sealed = 'sealed.v2.usr_a.s6sz2TaA-ZxSzwDCE98uMTX4Y5RkmcTmeHezwYJaBng.AA';
    const bodies = [{}, { decision: 'approve', reason: sealed }, { by: 'quorum' }].map((data) => ({
      data,
      meta: {},
    }));
    const lines = ['ApprovalRequested', 'ApprovalVoteCast', 'ApprovalGranted'].map((type, n) => ({
      actor: { id: 'usr_a', session_id: null, token_id: null, type: 'person' },
      causation_id: 'req_1',
      correlation_id: 'req_1',
      id: `evt_${String(n + 1)}`,
      occurred_at: '2026-01-01T00:00:00.000Z',
      request_id: 'req_1',
      revision: String(n),
      schema: 1,
      seq: n + 1,
      stream: 'operation-x',
      surface: 'console',
      trail: 'org_test',
      type,
      v: 1,
    }));
    const salts = [1, 2, 3].map((byte) => Buffer.alloc(16, byte));
    const leaves = lines.map((line, n) =>
      leafHash(canonicalJson(line), hashOf(salts[n] ?? '', canonicalJson(bodies[n]))),
    );
    expect(leaves.map(base64)).to.deep.equal([
      'rwjnqh9xQJuTCFaWHZBwL5Vj72JHz5j4OIzG+AhQMW4=',
      '5Z8YVbTALZL0g1fS6nrE+dfUBH9QZ54at9ketcQYSAg=',
      '097OIRUYsTtBuv8Zcnz2uWIMN5wxMgfOIDH6+yoWEZ8=',
    ]);
    const key = sampleKey(Buffer.from(Array.from({ length: 32 }, (_, n) => n)));
    expect(key.vkey).to.equal(
      'gateway.example/audit/org_test/1+59646811+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4',
    );
    const checkpoint = signedNote(
      'gateway.example/audit/org_test/1\n3\n9cu6FiuiSyCCxbnfLcE5hVNNSxbFB8L/1gLMn1sZDuw=\n',
      [key],
    );
    expect(checkpoint).to.match(
      / WWRoEY85\/VxGDurPsOe2bvO7wghqY20hyYTYvr6qjQ2ylmIPZi7wvWOxzJLu6y96CxlDn8ZcbTqGJginIX51hoe\/1gw=\n$/,
    );
    const records = lines.map((line, n) => ({
      t: 'line',
      line,
      body: bodies[n],
      salt: salts[n]?.toString('base64'),
    }));
    Object.assign(records[1] ?? {}, {
      opened: [
        { at: '/data/reason', salt: Buffer.alloc(16, 0xaa).toString('base64'), text: 'Zoë said "yes"' },
      ],
    });
    const [header = {}] = new SampleTrail().records({ checkpoint, to_seq: 3 });
    const { exit, code } = await verifyAudit(inPieces(fileOf([header, ...records])), { keys: [key.vkey] });
    expect({ exit, code }).to.deep.equal({ exit: 0, code: null });
  });
});

describe('texts of the verifier', () => {
  /** What the checks look at; what the reader of plain lines leaves out, and what is null, is not there. */
  const lookedAt = (read: (text: string) => unknown, text: string): string => {
    try {
      const value = read(text);
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'no line';
      const line = value as Readonly<Record<string, unknown>>;
      const { approval_id, mailbox_id, request_id, revision, salt, seq, stream, trail, type } = line;
      const actor = line['actor'] as { readonly id?: unknown } | null | undefined;
      return canonicalJson([actor?.id ?? null, approval_id, mailbox_id, request_id ?? null, revision, salt, seq, stream, trail, type]); // prettier-ignore
    } catch {
      return 'refused';
    }
  };

  it('reads a plain line as any other text is read', () => {
    const plain = canonical(sevenLines().leaves[0]?.line);
    expect(lineOf(plain)).not.to.deep.equal(parsed(plain));
    const lines = sevenLines().leaves.map(({ line }) => canonical(line));
    for (const line of lines) expect(lookedAt(lineOf, line), line).to.equal(lookedAt(parsed, line));
    const pieces = ['"', '\\', ',', 'null', '0', '1e3', '"salt":"none",', '\ud800', '𝄞', '\u0001', '{}', ' '];
    fc.assert(
      fc.property(fc.constantFrom(...lines), fc.nat(500), fc.nat(3), fc.constantFrom(...pieces), (line, at, gone, piece) => {
        const other = line.slice(0, at) + piece + line.slice(at + gone);
        expect(lookedAt(lineOf, other)).to.equal(lookedAt(parsed, other));
      }),
      { numRuns: 5_000 },
    ); // prettier-ignore
  });

  it('reads a line of seven million letters', () => {
    const long = canonical({ ...sevenLines().leaves[0]?.line, stream: 'x'.repeat(7_000_000) });
    expect(lookedAt(lineOf, long)).to.equal(lookedAt(parsed, long));
  });

  it('writes RFC 8785 as a package of others does', () => {
    const value = fc.jsonValue({ maxDepth: 5 });
    fc.assert(
      fc.property(
        value,
        fc.dictionary(fc.oneof(fc.string({ unit: 'binary' }), fc.nat().map(String)), value),
        (one, names) => {
          for (const each of [one, names, [names, one]]) {
            expect(canonicalJson(each)).to.equal(
              (canonicalize as unknown as (value: unknown) => string)(each),
            );
            expect(canonical(each)).to.equal(canonicalJson(each));
          }
        },
      ),
      { numRuns: 500 },
    );
    expect(canonicalJson({ b: ['\ud800', -0, 1e21], '10': 1, '9': 2 })).to.equal(
      '{"10":1,"9":2,"b":["\\ud800",0,1e+21]}',
    );
  });

  it('verifies the signature of the example of C2SP', async () => {
    const key = Buffer.from(
      'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'.split('+')[2] ?? '',
      'base64',
    );
    const text =
      "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    const signature = Buffer.from(
      'x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=',
      'base64',
    );
    expect(await isSigned(key.subarray(1), signature.subarray(4), text)).to.equal(true);
    expect(await isSigned(key.subarray(1), signature.subarray(4), `${text}\n`)).to.equal(false);
    expect(parseNote(`${text}\n— PeterNeumann ${signature.toString('base64')}\n`).wrong).to.equal(
      'note_invalid',
    );
  });
});
