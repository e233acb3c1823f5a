/** A name whose address is another one at each lookup of this process, as its owner can arrange with a lifetime of zero. */
import dns, { type LookupAddress } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

type Told = (error: Error | null, found: LookupAddress[] | string, family?: number) => void;

export class RebindingName implements Disposable {
  readonly #name: string;
  readonly #restore: () => void;
  #addresses: readonly string[] = [];
  /** How often it was asked for. */
  asked = 0;

  constructor(name: string) {
    this.#name = name;
    const { lookup } = dns;
    const { lookup: promised } = dns.promises;
    const told = (host: string, options: { all?: boolean }, tell: Told): void => {
      if (host !== name) (lookup as (...given: unknown[]) => void)(host, options, tell);
      else if (options.all === true) tell(null, [this.#next()]);
      else tell(null, this.#next().address, 4);
    };
    const found = async (host: string, options: object): Promise<unknown> =>
      host === name ? [this.#next()] : await promised(host, options);
    replace(told, found);
    this.#restore = () => {
      replace(lookup, promised);
    };
  }

  /** From now on: the first address at the next lookup, and so on; the last one stays. */
  answer(...addresses: readonly string[]): void {
    this.#addresses = addresses;
    this.asked = 0;
  }

  [Symbol.dispose](): void {
    this.#restore();
  }

  #next(): LookupAddress {
    const address = this.#addresses[Math.min(this.asked, this.#addresses.length - 1)];
    if (address === undefined) throw new Error(`${this.#name} has no address`);
    this.asked += 1;
    return { address, family: 4 };
  }
}

/** Both ways by which a connection may ask. */
function replace(lookup: unknown, promised: unknown): void {
  Object.assign(dns, { lookup });
  Object.assign(dns.promises, { lookup: promised });
  syncBuiltinESMExports();
}
