import type { RequirementTable } from './requirement.ts';

/** Inviting people, and the own account: sections 12, 17, 18 and 20. */
export const contractPeople = {
  'contract:17:invites': [
    ['create_invite', 'list_invites', 'resend_invite', 'delete_invite'],
    'An invite is made by a signed-in person with a fresh password, one at a time for each address, for seven days; it can be sent again and withdrawn.',
  ],
  'contract:17:users-me': [['get_me', 'update_me'], 'A person reads and changes the own account.'],
  'contract:17:export': [
    'export_me',
    'A person exports the account, credentials without secrets, grants, and every line of the trail that they made; of others only ids.',
  ],
  'contract:17:erase-account': [
    'delete_me',
    'A person erases the own account with a fresh password; the last owner of an organisation is refused with its name.',
  ],
  'contract:18:invite-link': [
    'kernel',
    'The link of an invite shows its holder what it offers, counts once, and says what to do when it is not valid.',
  ],
  'contract:18:accept-invite': [
    'kernel',
    'Accepting makes a member with the promised grants: with an account no password is read, without one name and password are needed.',
  ],
  'contract:18:accept-once': [
    'kernel',
    'Of requests that race for one invite one wins, and an interrupted one is finished.',
  ],
  'contract:20:invite-roles': [
    'create_invite',
    'Nobody invites into a role above their own, and the inviter must still be allowed to when the invite is accepted.',
  ],
  'contract:12:erasure': [
    'kernel',
    'After an erasure nothing sealed for the person opens, the trail stays, the address is free, and a rebuild gives the same.',
  ],
  'contract:12:erasure-told': [
    'kernel',
    'An erased key of a person is told once in each organisation that has lines of them, and in their own trail, also after a crash at any step.',
  ],
  'contract:12:mailbox-erasure': [
    'delete_mailbox',
    'With a mailbox the key of its texts is erased, which its organisation is told once, also late.',
  ],
  'contract:12:nothing-to-guess': [
    'kernel',
    'What stays after an erasure, seals included, does not tell whether a guessed address, name, message id or hash is right.',
  ],
} as const satisfies RequirementTable;
