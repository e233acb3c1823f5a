/** One-time links in memory, in clear: a test can see which are valid. */
import type { Clock } from '../../../commands/ports/ports.ts';
import type { LinkPurpose, OneTimeLink, OneTimeLinks } from '../../../commands/ports/sign-in-port.ts';

interface Kept {
  readonly token: string;
  readonly purpose: LinkPurpose;
  readonly subject: string | null;
  readonly endsAt: Date;
}

const DAY_MS = 24 * 60 * 60_000;

export class MemoryLinks implements OneTimeLinks {
  #kept: readonly Kept[] = [];
  #made = 0;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  make(purpose: LinkPurpose, subject: string | null, _: string | null, endsAt?: Date): Promise<string> {
    this.#made += 1;
    const token = `link-${String(this.#made)}`;
    const others = this.#kept.filter((kept) => kept.purpose !== purpose || kept.subject !== subject);
    const end = endsAt ?? new Date(this.#clock.now().getTime() + DAY_MS);
    this.#kept = [...others, { token, purpose, subject, endsAt: end }];
    return Promise.resolve(token);
  }

  find(purpose: LinkPurpose, token: string): Promise<OneTimeLink | null> {
    const now = this.#clock.now();
    const found = this.#kept.find(
      (kept) => kept.token === token && kept.purpose === purpose && kept.endsAt > now,
    );
    return Promise.resolve(found ? { subject: found.subject } : null);
  }

  async take(purpose: LinkPurpose, token: string): Promise<OneTimeLink | null> {
    const found = await this.find(purpose, token);
    this.#kept = this.#kept.filter((kept) => kept.token !== token);
    return found;
  }

  takeForPassword(): Promise<null> {
    return Promise.reject(new Error('no password is set by these links'));
  }

  withdraw(subject: string): Promise<void> {
    this.#kept = this.#kept.filter((kept) => kept.subject !== subject);
    return Promise.resolve();
  }
}
