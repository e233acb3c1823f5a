/** The background work on mails of the gateway itself, as rows for the table in `sweepers.ts`. */
import type { Ports } from '../../commands/ports/ports.ts';
import { listDueMails, listKeptAddresses, MAIL_PROBE } from '../../projections/system-mail.ts';
import { forgetAddress, sendSystemMail } from '../system-mail/send-system-mail.ts';
import { ApproverNotices } from './approver-notices.ts';
import { row, type Sweeper } from './run-sweeper.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const MOST_LISTED = 100;

export const systemMailSweepers = (ports: Ports): readonly Sweeper[] => [
  row({
    name: 'system-mail',
    everyMs: 500,
    atOnce: 4,
    pauses: { firstMs: SECOND, mostMs: 5 * MINUTE },
    probe: MAIL_PROBE,
    find: (room) => listDueMails(ports.sql, room),
    keyOf: ({ id }) => id,
    settle: ({ id }) => sendSystemMail(ports, id),
  }),
  // The key of an address is erased when its mail ends; what remains was interrupted.
  row({
    name: 'system-mail-addresses',
    everyMs: MINUTE,
    atOnce: 4,
    pauses: { firstMs: MINUTE, mostMs: 15 * MINUTE },
    find: ({ except }) => listKeptAddresses(ports.sql, except, MOST_LISTED),
    keyOf: ({ id }) => id,
    settle: async ({ id }) => {
      await forgetAddress(ports, id);
      return 'settled';
    },
  }),
  row(new ApproverNotices(ports)),
];
