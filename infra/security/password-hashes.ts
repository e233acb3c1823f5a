/** Passwords as argon2id (RFC 9106) in PHC strings, which contain their parameters and salt. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { GatewayError } from '../../commands/values/errors.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import type { HashedPassword } from '../../commands/ports/sign-in-port.ts';

const argon2Async = promisify(argon2);

interface Parameters {
  /** In KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** The first choice of OWASP's Password Storage Cheat Sheet for argon2id. */
const ARGON2ID: Parameters = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/** Each hash takes 19 MiB and a core for tens of milliseconds: sign-in must not starve everything else. */
const AT_ONCE = 2;
const MOST_WAITING = 20;

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Hashes and checks, two at a time. One per process. */
export class PasswordHashes {
  readonly #slots = new Semaphore(AT_ONCE);

  /** Throws `overloaded`. */
  async hash(password: string): Promise<HashedPassword> {
    const salt = randomBytes(SALT_BYTES);
    return phcOf(ARGON2ID, salt, await this.#derive(password, ARGON2ID, { salt, tagBytes: TAG_BYTES }));
  }

  /** Null = there is no hash: takes as long and never matches. Throws `overloaded`. */
  async verify(phc: string | null, password: string): Promise<boolean> {
    const [, memory, passes, parallelism, salt = '', tag = ''] = PHC.exec(phc ?? NOBODYS) ?? [];
    const expected = Buffer.from(tag, 'base64');
    const parameters = {
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
    };
    const found = await this.#derive(password, parameters, {
      salt: Buffer.from(salt, 'base64'),
      tagBytes: expected.length,
    });
    return timingSafeEqual(found, expected) && phc !== null;
  }

  async #derive(
    password: string,
    parameters: Parameters,
    { salt, tagBytes }: { readonly salt: Buffer; readonly tagBytes: number },
  ): Promise<Buffer> {
    if (this.#slots.waiting >= MOST_WAITING) throw tooMany();
    return await this.#slots.run(async () => {
      // The same password typed on another keyboard may arrive decomposed (RFC 8265 4.2).
      const message = password.normalize('NFC');
      return await argon2Async('argon2id', { message, nonce: salt, tagLength: tagBytes, ...parameters });
    });
  }
}

const phcOf = ({ memory, passes, parallelism }: Parameters, salt: Buffer, tag: Buffer): HashedPassword => {
  const parameters = `m=${String(memory)},t=${String(passes)},p=${String(parallelism)}`;
  return `$argon2id$v=19$${parameters}$${unpadded(salt)}$${unpadded(tag)}` as HashedPassword;
};

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

/** Costs the same as a real hash. */
const NOBODYS = phcOf(ARGON2ID, Buffer.alloc(SALT_BYTES), Buffer.alloc(TAG_BYTES));

const tooMany = (): GatewayError =>
  new GatewayError('overloaded', 'Too many passwords are being checked at once; try again shortly.');
