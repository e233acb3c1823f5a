import type { Sealed } from '../../../../commands/values/sealed.ts';
import {
  MAIL_RETRIES_MS,
  noteAttempt,
  skipMail,
  systemMail,
} from '../../../../commands/system-mail/system-mail.ts';
import { given, NOW } from '../../../support/suite/decider-spec.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const requested = {
  type: 'SystemMailRequested',
  data: { kind: 'password_reset', user_id: null, to: 'sealed' as Sealed },
} as const;
const failed = (next_at: string | null) =>
  ({ type: 'SystemMailAttempted', data: { outcome: 'failed', code: '451', next_at } }) as const;
const sent = { type: 'SystemMailAttempted', data: { outcome: 'sent', code: null, next_at: null } } as const;
const after = (ms: number): string => new Date(NOW.getTime() + ms).toISOString();
const DEFERRED = { code: '451', isFinal: false };

describe('a mail of the gateway', () => {
  it('ends when it was sent', () => {
    given(systemMail, requested)
      .when((state) => noteAttempt(state, null, NOW))
      .then(sent);
    given(systemMail, requested, sent)
      .when((state) => noteAttempt(state, DEFERRED, NOW))
      .then();
  });

  for (const [attempts, pauseMs] of [...MAIL_RETRIES_MS, null].entries()) {
    it(`is tried again after attempt ${String(attempts + 1)}: ${pauseMs === null ? 'never' : `${String(pauseMs / 60_000)} min`} ${verifies('contract:18:system-mail-retries')}`, () => {
      const past = Array.from({ length: attempts }, () => failed(after(0)));
      given(systemMail, requested, ...past)
        .when((state) => noteAttempt(state, DEFERRED, NOW))
        .then(failed(pauseMs === null ? null : after(pauseMs)));
    });
  }

  it('is not tried again after a permanent refusal', () => {
    given(systemMail, requested)
      .when((state) => noteAttempt(state, { code: '550', isFinal: true }, NOW))
      .then({ type: 'SystemMailAttempted', data: { outcome: 'failed', code: '550', next_at: null } });
  });

  it('is skipped once, and not after its end', () => {
    const skipped = { type: 'SystemMailSkipped', data: { reason: 'no_account' } } as const;
    given(systemMail, requested)
      .when((state) => skipMail(state, 'no_account'))
      .then(skipped);
    given(systemMail, requested, skipped)
      .when((state) => skipMail(state, 'no_account'))
      .then();
    given(systemMail, requested, sent)
      .when((state) => skipMail(state, 'no_account'))
      .then();
  });

  it('has to be requested first', () => {
    given(systemMail)
      .when((state) => noteAttempt(state, null, NOW))
      .thenRefused('not_found');
    given(systemMail)
      .when((state) => skipMail(state, 'no_account'))
      .thenRefused('not_found');
  });
});
