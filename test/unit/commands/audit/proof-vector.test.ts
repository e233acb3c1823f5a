import { expect } from 'chai';
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';
import { bodyHash, leafHash } from '../../../../commands/audit/audit-line.ts';
import {
  consistencyPath,
  EMPTY_ROOT,
  Frontier,
  inclusionPath,
  innerHash,
  joined,
  type LeafRange,
  tiling,
} from '../../../../commands/audit/merkle.ts';
import {
  checkpointText,
  isSignedBy,
  noteOf,
  originOf,
  rawPublicKey,
  readVkey,
  vkeyOf,
} from '../../../../commands/audit/signed-note.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const TYPES = ['ApprovalRequested', 'ApprovalVoteCast', 'ApprovalGranted'];
const LINES = TYPES.map(
  (type, at) =>
    `{"actor":{"id":"usr_a","session_id":null,"token_id":null,"type":"person"},"causation_id":"req_1","correlation_id":"req_1",` +
    `"id":"evt_${String(at + 1)}","occurred_at":"2026-01-01T00:00:00.000Z","request_id":"req_1","revision":"${String(at)}",` +
    `"schema":1,"seq":${String(at + 1)},"stream":"operation-x","surface":"console","trail":"org_test","type":"${type}","v":1}`,
);
const BODIES = [
  '{"data":{},"meta":{}}',
  '{"data":{"decision":"approve","reason":"sealed.v2.usr_a.s6sz2TaA-ZxSzwDCE98uMTX4Y5RkmcTmeHezwYJaBng.AA"},"meta":{}}',
  '{"data":{"by":"quorum"},"meta":{}}',
];
const LEAVES = LINES.map((line, at) => leafHash(line, bodyHash(BODIES[at] ?? '', Buffer.alloc(16, at + 1))));
/** PKCS #8 around the seed 00 01 … 1f (RFC 8410 7). */
const PRIVATE_KEY = createPrivateKey({
  key: Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    Buffer.from(Array.from({ length: 32 }, (_unused, at) => at)),
  ]),
  format: 'der',
  type: 'pkcs8',
});
const KEY = {
  name: originOf('gateway.example/audit', 'org_test', 1),
  publicKey: rawPublicKey(createPublicKey(PRIVATE_KEY)),
};

describe('a trail of three lines', () => {
  it(`has the published leaves and root ${verifies('contract:12:seal')}`, () => {
    expect(LEAVES.map((leaf) => leaf.toString('base64'))).to.deep.equal([
      'rwjnqh9xQJuTCFaWHZBwL5Vj72JHz5j4OIzG+AhQMW4=',
      '5Z8YVbTALZL0g1fS6nrE+dfUBH9QZ54at9ketcQYSAg=',
      '097OIRUYsTtBuv8Zcnz2uWIMN5wxMgfOIDH6+yoWEZ8=',
    ]);
    expect(Buffer.from(treeOf(LEAVES).root()).toString('base64')).to.equal(
      '9cu6FiuiSyCCxbnfLcE5hVNNSxbFB8L/1gLMn1sZDuw=',
    );
  });

  it('is signed as published', () => {
    expect(vkeyOf(KEY)).to.equal(
      'gateway.example/audit/org_test/1+59646811+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4',
    );
    expect(readVkey(vkeyOf(KEY))).to.deep.equal(KEY);
    const text = checkpointText(KEY.name, 3, treeOf(LEAVES).root());
    const signature = sign(null, Buffer.from(text), PRIVATE_KEY);
    const note = noteOf(text, [{ ...KEY, signature }]);
    expect(note).to.equal(
      `${text}\n\u2014 gateway.example/audit/org_test/1 WWRoEY85/VxGDurPsOe2bvO7wghqY20hyYTYvr6qjQ2ylmIPZi7wvWOxzJLu6y96CxlDn8ZcbTqGJginIX51hoe/1gw=\n`,
    );
    expect(isSignedBy(note, KEY)).to.equal(true);
    expect(isSignedBy(note.replace('\n3\n', '\n4\n'), KEY)).to.equal(false);
    expect(isSignedBy(note, { ...KEY, publicKey: randomBytes(32) })).to.equal(false);
  });
});

const treeOf = (leaves: readonly Uint8Array[]): Frontier => {
  const tree = new Frontier();
  for (const leaf of leaves) tree.push(leaf);
  return tree;
};

/** MTH of RFC 6962 2.1, as it is written there. */
const rootByDefinition = (leaves: readonly Uint8Array[]): Uint8Array => {
  const [only] = leaves;
  if (only === undefined) return createHash('sha256').digest();
  if (leaves.length === 1) return only;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return innerHash(rootByDefinition(leaves.slice(0, split)), rootByDefinition(leaves.slice(split)));
};

describe('the Merkle tree', () => {
  const leaves = Array.from({ length: 130 }, () => randomBytes(32));
  const rootOf = ({ from, to }: LeafRange): Uint8Array => rootByDefinition(leaves.slice(from, to));

  it('has the root of RFC 6962 at every size, also when it is continued from its bytes', () => {
    expect(EMPTY_ROOT).to.deep.equal(rootByDefinition([]));
    let tree = new Frontier();
    for (const [at, leaf] of leaves.entries()) {
      tree.push(leaf);
      expect(tree.root(), String(at + 1)).to.deep.equal(rootByDefinition(leaves.slice(0, at + 1)));
      tree = new Frontier(tree.size, tree.toBytes());
    }
    expect(() => new Frontier(1, tree.toBytes())).to.throw(RangeError);
  });

  it('reports each inner node once, with the leaves it spans', () => {
    const tree = new Frontier();
    const nodes = leaves.flatMap((leaf) => tree.push(leaf));
    expect(nodes).to.have.length(65 + 32 + 16 + 8 + 4 + 2 + 1);
    for (const { level, index, hash } of nodes) {
      const width = 2 ** level;
      expect(hash).to.deep.equal(rootOf({ from: index * width, to: (index + 1) * width }));
    }
  });

  it('tiles any range with aligned subtrees, and the root joins those from 0', () => {
    for (const [from, to] of [[0, 130], [3, 97], [64, 128], [1, 2], [5, 5]] as const) {
      let at = from;
      for (const { level, index } of tiling(from, to)) {
        expect(index * 2 ** level).to.equal(at);
        at += 2 ** level;
      }
      expect(at).to.equal(to);
    }
    const hashes = tiling(0, 130).map(({ level, index }) => rootOf({ from: index * 2 ** level, to: (index + 1) * 2 ** level }));
    expect(joined(hashes)).to.deep.equal(rootByDefinition(leaves));
  }); // prettier-ignore

  it('proves every leaf in every tree, as RFC 9162 2.1.3.2 verifies it', () => {
    for (let size = 1; size <= 40; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const path = inclusionPath(index, size).map(rootOf);
        const root = rootFromPath({ leaf: leaves[index] ?? randomBytes(32), index, size, path });
        expect(root, `${String(index)} of ${String(size)}`).to.deep.equal(
          rootByDefinition(leaves.slice(0, size)),
        );
      }
    }
  });

  it('proves that one tree begins with another, as RFC 9162 2.1.4.2 verifies it', () => {
    for (let newer = 1; newer <= 40; newer += 1) {
      for (let older = 1; older <= newer; older += 1) {
        const path = consistencyPath(older, newer).map(rootOf);
        const first = rootByDefinition(leaves.slice(0, older));
        const second = rootByDefinition(leaves.slice(0, newer));
        expect(rootsFromConsistency({ older, newer, first, path }), `${String(older)} in ${String(newer)}`)
          .to.deep.equal({ first, second }); // prettier-ignore
      }
    }
  });
});

interface Inclusion {
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly size: number;
  readonly path: readonly Uint8Array[];
}

function rootFromPath({ leaf, index, size, path }: Inclusion): Uint8Array {
  let [fn, sn, hash] = [index, size - 1, leaf];
  for (const step of path) {
    if (fn % 2 === 1 || fn === sn) {
      hash = innerHash(step, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >> 1, sn >> 1];
    } else hash = innerHash(hash, step);
    [fn, sn] = [fn >> 1, sn >> 1];
  }
  return hash;
}

interface Consistency {
  readonly older: number;
  readonly newer: number;
  readonly first: Uint8Array;
  readonly path: readonly Uint8Array[];
}

function rootsFromConsistency({ older, newer, first, path }: Consistency): {
  first: Uint8Array;
  second: Uint8Array;
} {
  if (older === newer) return { first, second: first };
  const isPower = (older & (older - 1)) === 0;
  const [seed = first, ...steps] = isPower ? [first, ...path] : path;
  let [fn, sn] = [older - 1, newer - 1];
  while (fn % 2 === 1) [fn, sn] = [fn >> 1, sn >> 1];
  let [fr, sr] = [seed, seed];
  for (const step of steps) {
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [innerHash(step, fr), innerHash(step, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >> 1, sn >> 1];
    } else sr = innerHash(sr, step);
    [fn, sn] = [fn >> 1, sn >> 1];
  }
  return { first: fr, second: sr };
}
