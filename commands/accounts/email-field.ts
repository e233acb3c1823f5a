/** An e-mail address as people are known by. */
import { z } from 'zod';

/** RFC 5321 4.5.3.1: 64 characters, the sign, 255 more. */
const MOST_CHARS = 320;

/** Enough to notice a slip; whether mail arrives there is another question. */
export const isEmailAddress = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text.trim());

export const NewEmail = z.string().max(MOST_CHARS).refine(isEmailAddress, 'This is not an e-mail address.');

/** One to look for: whatever it is, it is unknown or known. */
export const GivenEmail = z.string().min(1).max(MOST_CHARS);
