/** The Merkle tree of a trail (RFC 6962 2.1): leaves, inner nodes, and proofs as aligned subtrees. */
import { sha256 } from './sha256.ts';

/** Bytes of a SHA-256. */
export const HASH_BYTES = 32;

/** The subtree over the leaves `index * 2^level` up to `(index + 1) * 2^level - 1`. */
export interface Subtree {
  readonly level: number;
  readonly index: number;
}

export interface TreeNode extends Subtree {
  readonly hash: Uint8Array;
}

const INNER = Buffer.of(1);

/** SHA-256(0x01 | left | right). */
export const innerHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(INNER, left, right);

/** The root of the tree without leaves. */
export const EMPTY_ROOT = sha256();

/** The tree over the leaves so far, as the complete subtrees that its size consists of, largest first. */
export class Frontier {
  #size: number;
  readonly #hashes: Uint8Array[];

  /** `bytes`: the result of `toBytes` at this size. Throws `RangeError` when it does not fit the size. */
  constructor(size = 0, bytes: Uint8Array = Buffer.alloc(0)) {
    const hashes = subtreesOf(size).map((_, at) => bytes.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES));
    if (bytes.length !== hashes.length * HASH_BYTES)
      throw new RangeError(`A tree of ${String(size)} leaves does not have ${String(bytes.length)} bytes.`);
    this.#size = size;
    this.#hashes = hashes;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds the next leaf; returns the inner nodes that it completes, lowest first. */
  push(leaf: Uint8Array): readonly TreeNode[] {
    return this.add(0, leaf);
  }

  /** Adds a complete subtree; the size so far is a multiple of its width. */
  add(ofLevel: number, ofHash: Uint8Array): readonly TreeNode[] {
    const completed: TreeNode[] = [];
    const width = 2 ** ofLevel;
    let hash = ofHash;
    let index = this.#size / width;
    for (let level = ofLevel + 1; index % 2 === 1; level += 1) {
      const left = this.#hashes.pop();
      if (left === undefined) throw new RangeError('the frontier has fewer hashes than its size needs');
      hash = innerHash(left, hash);
      index = (index - 1) / 2;
      completed.push({ level, index, hash });
    }
    this.#hashes.push(hash);
    this.#size += width;
    return completed;
  }

  root(): Uint8Array {
    return joined(this.#hashes);
  }

  toBytes(): Buffer {
    return Buffer.concat(this.#hashes);
  }
}

/** The root over complete subtrees that stand side by side, largest first. */
export function joined(hashes: readonly Uint8Array[]): Uint8Array {
  const [last, ...others] = hashes.toReversed();
  return last === undefined ? EMPTY_ROOT : others.reduce((right, left) => innerHash(left, right), last);
}

/** The complete subtrees of a tree of `size` leaves, largest first. */
export const subtreesOf = (size: number): readonly Subtree[] => tiling(0, size);

/** The fewest aligned subtrees over the leaves `from` up to `to - 1`, in their order. Sizes up to 2^53 - 1. */
export function tiling(from: number, to: number): readonly Subtree[] {
  const tiles: Subtree[] = [];
  let at = from;
  while (at < to) {
    let level = 0;
    let width = 1;
    while (at % (width * 2) === 0 && at + width * 2 <= to) {
      level += 1;
      width *= 2;
    }
    tiles.push({ level, index: at / width });
    at += width;
  }
  return tiles;
}

/** The largest power of two that is less than `size` (at least 2). */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** A range of leaves whose root is one hash of a proof; `to` is not included. */
export interface LeafRange {
  readonly from: number;
  readonly to: number;
}

/** The audit path of RFC 6962 2.1.1: the ranges whose roots prove the leaf at `index` in the tree of `size`, lowest first. */
export function inclusionPath(index: number, size: number): readonly LeafRange[] {
  const path: LeafRange[] = [];
  let from = 0;
  let to = size;
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      path.push({ from: middle, to });
      to = middle;
    } else {
      path.push({ from, to: middle });
      from = middle;
    }
  }
  return path.toReversed();
}

/** The consistency proof of RFC 6962 2.1.2 between the trees of `older` and `newer` leaves, 0 < older <= newer. */
export function consistencyPath(older: number, newer: number): readonly LeafRange[] {
  const path: LeafRange[] = [];
  let from = 0;
  let to = newer;
  let isWhole = true;
  while (to !== older) {
    const middle = from + splitOf(to - from);
    if (older <= middle) {
      path.push({ from: middle, to });
      to = middle;
    } else {
      path.push({ from, to: middle });
      from = middle;
      isWhole = false;
    }
  }
  if (!isWhole) path.push({ from, to });
  return path.toReversed();
}
