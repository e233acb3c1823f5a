/** What the page itself says about this installation, before anybody has signed in. */

/** @param {string} name */
const told = (name) => document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';

export const installation = {
  /** Whether anybody may create an account with an organisation of their own (`SIGNUP`). */
  isOpen: told('sign-up') === 'open',
  /** Whether the gateway can send mail of its own; otherwise its links go to the operator's log. */
  hasSystemMail: told('system-mail') === 'on',
};

/**
 * What is told of a link that the gateway sends to somebody; without mail of its own it tells where the link is instead.
 * @template Told
 * @param {Told} mailed
 * @param {Told | string} [otherwise]
 */
export const byMail = (mailed, otherwise = 'The link is in the log of the gateway; ask its operator.') =>
  installation.hasSystemMail ? mailed : otherwise;
