/** Input fields: instants, and lines of text that a person types. */
import { z } from 'zod';
import { GatewayError } from './errors.ts';

/** RFC 3339 with any offset. */
export const InstantField = z.iso.datetime({
  offset: true,
  error: 'An RFC 3339 date and time, such as 2026-01-31T12:00:00Z.',
});

/** The instant in UTC with milliseconds. Throws `invalid_request` when it is not between now and `latest`. */
export function futureInstant(text: string, path: string, now: Date, latest?: Date): string {
  const at = new Date(text);
  const message =
    at <= now
      ? 'This moment is already past.'
      : latest && at > latest
        ? `At the latest ${latest.toISOString()} is possible here.`
        : null;
  if (message === null) return at.toISOString();
  throw new GatewayError('invalid_request', message, {
    details: { issues: [{ path, code: 'custom', message }] },
  });
}

/** A line of 1 to `most` characters, without control characters: they end IMAP commands and cannot be stored everywhere. */
export const lineOfText = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^\P{Cc}+$/u, 'Control characters are not allowed here.')
    .refine((text) => text.isWellFormed(), 'This is not well-formed Unicode.');
