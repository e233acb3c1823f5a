/** The link of the mail that verifies an address. Opening it changes nothing; the button does. */
import { cardView } from './card.js';
import { h } from './dom.js';
import { formOf } from './form.js';
import { verifyAddress } from './people-routes.js';

/**
 * @param {{ token: string, onDone: () => void }} options
 * @returns {import('./sign-in-views.js').View}
 */
export const verifyView = ({ token, onDone }) =>
  cardView(
    'Verify your address',
    h(
      'p',
      null,
      'This shows that the address of your account is yours. You can then invite people and send mail.',
    ),
    formOf([], {
      tone: 'primary wide',
      button: 'Verify the address',
      next: {
        invalid_credentials:
          'It was used already, or a newer one was sent. Sign in to see, or have a new link sent.',
        conflict: 'Sign in to the account that has this address, or choose a new password for it.',
      },
      act: async () => {
        await verifyAddress({ token });
        onDone();
      },
    }),
    h('p', { class: 'quiet small' }, h('a', { href: '#/verify' }, 'Send a new link')),
  );
