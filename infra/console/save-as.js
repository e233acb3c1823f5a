/** Saves bytes as a file of the person. */
import { h } from './dom.js';

/**
 * @param {string} name
 * @param {Blob} bytes
 */
export function saveAs(name, bytes) {
  const address = URL.createObjectURL(bytes);
  h('a', { href: address, download: name }).click();
  // The browser reads it after this click has been handled.
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, 60_000);
}
