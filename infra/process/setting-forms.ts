/** The forms of settings: how each reads its text, and what the documentation says of it. */
import { z } from 'zod';

export interface SettingFacts {
  readonly description: string;
  /** The value when it is not set. */
  readonly fallback: string;
  /** A secret may be read from the file that `<NAME>_FILE` names. Messages never repeat it. */
  readonly secret?: true;
}

export const settings = z.registry<SettingFacts>();

export const wholeNumber = (from: number, to: number) => {
  const message = `must be a whole number from ${String(from)} to ${String(to)}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= from && value <= to, message);
};

export const port = (from: number) => wholeNumber(from, 65_535);

export const limit = (description: string, fallback: number) =>
  wholeNumber(1, 1_000_000_000)
    .default(fallback)
    .register(settings, { description, fallback: String(fallback) });

export const list = (message: string, accepts: (item: string) => boolean) =>
  z
    .string()
    .transform((text) => text.split(',').map((item) => item.trim()))
    .refine((items) => items.every(accepts), message);

/** Tests only the scheme: `esdb://` may name several hosts, which URL parsers reject. */
export const address = (schemes: readonly string[]) =>
  z
    .string()
    .refine(
      (text) => schemes.some((scheme) => text.startsWith(`${scheme}://`)),
      `must be an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    );
