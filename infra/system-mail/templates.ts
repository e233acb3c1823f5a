/** What the gateway writes to people, one declaration for each kind of mail. Names in the facts are plain already. */
import { counted } from '../../commands/values/counted.ts';
import type { Role } from '../../commands/values/scopes.ts';
import { type Link, mailText, type MailText, momentOf } from './mail-parts.ts';

/** Whom the account was made for: a stranger may have made it with this address. */
export const verifyEmail = (
  { name, organisation }: { readonly name: string; readonly organisation: string },
  link: Link,
): MailText =>
  mailText({
    subject: 'Verify your e-mail address',
    preheader: 'Confirm that this address is yours, and your account is ready.',
    action: { label: 'Verify the address', href: link },
    paragraphs: [
      `An account was made with this address for ${name}, in the organisation ${organisation}. Verify it only if that is you.`,
      'Until then you can sign in, but nothing is sent from your account and you cannot invite people. The link works once, within 24 hours.',
    ],
    footer:
      'You get this mail because an account was made with your address. If that was not you, do nothing: the account stays without rights.',
  });

export const addressHasAccount = (signIn: Link): MailText =>
  mailText({
    subject: 'You have an account already',
    preheader: 'Your address was used to sign up, but it has an account already. Nothing was changed.',
    action: { label: 'Sign in', href: signIn },
    paragraphs: ['If you do not know your password any longer, ask for a new one on that page.'],
    footer:
      'You get this mail because your address was used to sign up. If that was not you, do nothing: your account is as it was.',
  });

export const passwordReset = (link: Link): MailText =>
  mailText({
    subject: 'Set a new password',
    preheader: 'A new password was requested for your account.',
    action: { label: 'Set a new password', href: link },
    paragraphs: ['The link works once, within 30 minutes. All your sessions end when you use it.'],
    footer: 'If that was not you, do nothing: your password stays as it is.',
  });

export const passwordChanged = (at: string, signIn: Link): MailText =>
  mailText({
    subject: 'Your password was changed',
    preheader: `The password of your account was changed on ${momentOf(at)}.`,
    action: { label: 'Sign in', href: signIn },
    footer:
      'You get this mail to notice when others do this. If it was not you, ask for a new password on the sign-in page now, and write to an owner of your organisation.',
  });

interface SignInFacts {
  readonly at: string;
  /** Null once they were erased. */
  readonly device: { readonly ip: string; readonly browser: string } | null;
}

export const newSignIn = ({ at, device }: SignInFacts, sessions: Link): MailText =>
  mailText({
    subject: 'New sign-in to your account',
    preheader: 'Your account was used from a device that it was not used from before.',
    items: [
      {
        title: momentOf(at),
        lines: device === null ? [] : [`Network address ${device.ip}`, device.browser],
        href: null,
      },
    ],
    action: { label: 'Show your sessions', href: sessions },
    footer:
      'You get this mail to notice when others do this. If it was not you, end the session and change your password now.',
  });

interface ConnectionFacts {
  /** What the application calls itself; null when it does not. */
  readonly name: string | null;
  /** Of its own address; null without one. */
  readonly host: string | null;
  /** Empty when the answer goes to a private scheme. */
  readonly redirectHost: string;
  readonly onlyLoopback: boolean;
  readonly organisation: string;
  readonly at: string;
}

/** In the words of the page on which it was allowed. */
function answerPlace({ redirectHost, onlyLoopback }: ConnectionFacts): string {
  if (onlyLoopback) return 'a program on the computer where it was allowed';
  return redirectHost === '' ? 'an app on a device' : redirectHost;
}

export const applicationConnected = (facts: ConnectionFacts, account: Link): MailText =>
  mailText({
    subject: 'An application was connected to your account',
    preheader: 'It can act on mail in your name, as you allowed.',
    items: [
      {
        title: facts.name ?? 'An application without a name',
        lines: [
          ...(facts.host === null ? [] : [`Its own address ${facts.host}`]),
          `The answer goes to ${answerPlace(facts)}`,
          `Organisation ${facts.organisation}`,
          momentOf(facts.at),
        ],
        href: null,
      },
    ],
    action: { label: 'Show connected applications', href: account },
    footer:
      'You get this mail to notice when others do this. If it was not you, disconnect the application and change your password now.',
  });

interface InviteFacts {
  readonly organisation: string;
  readonly inviter: string;
  readonly role: Role;
  readonly expiresAt: string;
}

const ROLE_NAMES: Readonly<Record<Role, string>> = {
  owner: 'an owner',
  admin: 'an admin',
  approver: 'an approver',
  member: 'a member',
  auditor: 'an auditor',
};

export const invite = ({ organisation, inviter, role, expiresAt }: InviteFacts, link: Link): MailText =>
  mailText({
    subject: `Invite to ${organisation}`,
    preheader: `${inviter} invites you to ${organisation} as ${ROLE_NAMES[role]}.`,
    action: { label: 'Look at the invite', href: link },
    paragraphs: [`The link works once, until ${momentOf(expiresAt)}.`],
    footer: 'If you do not know who that is, do nothing: without you the invite expires.',
  });

export const memberRemoved = (organisation: string): MailText =>
  mailText({
    subject: `You are not a member of ${organisation} now`,
    preheader: `Your membership of ${organisation} has ended, and with it your sessions, tokens and grants there.`,
    paragraphs: [
      'Your account stays. Without another organisation you cannot sign in. The operator of this gateway can erase the account for you.',
    ],
    footer: `If you did not expect this, ask an owner of ${organisation}.`,
  });

export const agentsHandedOver = (
  { organisation, agents }: { readonly organisation: string; readonly agents: readonly string[] },
  console: Link,
): MailText =>
  mailText({
    subject: `You own ${counted(agents.length, 'agent')} more in ${organisation}`,
    preheader: `${agents.length === 1 ? 'This agent was' : 'These agents were'} handed over to you, and may do at most what you may do.`,
    items: agents.map((title) => ({ title, lines: [], href: null })),
    action: { label: 'Open the console', href: console },
    paragraphs: ['The tokens they had are invalid. Issue new ones where they are needed.'],
    footer: `If you did not expect this, ask an owner of ${organisation}.`,
  });

export const organisationDeleted = (
  { organisation, eraseAt }: { readonly organisation: string; readonly eraseAt: string },
  signIn: Link,
): MailText =>
  mailText({
    subject: `${organisation} was deleted`,
    preheader: `${organisation} and its mailboxes will be erased on ${momentOf(eraseAt)}.`,
    action: { label: 'Sign in', href: signIn },
    paragraphs: ['Until then an owner can restore it. All sessions and tokens have ended.'],
    footer: 'You get this mail because you are a member. If you did not expect this, ask an owner.',
  });

export const accountErased = (): MailText =>
  mailText({
    subject: 'Your account was erased',
    preheader: 'Your account is gone, and your name and address with it.',
    footer:
      'You asked for this in your account, or the operator of this gateway did it for you. This is the last mail to this address.',
  });
