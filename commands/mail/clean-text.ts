/** Text from mail headers as it is stored: without control characters, which encoded words can hide. */

/** C0 controls and DEL (RFC 5322 2.2: a field body is printable US-ASCII and spaces, decoded words aside). */
const CONTROL = /[\u0000-\u001f\u007f]/g;

/**
 * Controls become spaces, halves of surrogate pairs U+FFFD: the result can be stored, compared and sent
 * anywhere.
 */
export const cleanText = (text: string): string => text.toWellFormed().replaceAll(CONTROL, ' ');

/** True when `cleanText` would change nothing. */
export const isCleanText = (text: string): boolean => cleanText(text) === text;
