/** Notifications of the browser about approvals that begin to wait; off until the person turns them on in this browser. */
import { ASKS } from './approval-asks.js';
import { h } from './dom.js';
import { foreignPlain } from './foreign-text.js';

/** @import { Approval } from './payloads.d.ts' */

const KEY = 'mailbox-gateway.notifications';

/** Where only a service worker may show them, as in Chrome for Android: known once one was refused. */
let isRefused = false;

const isPossible = () => isSecureContext && 'Notification' in window && !isRefused;
const isOn = () =>
  isPossible() && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on';

/**
 * A repeat for the same approval, also from another tab, takes the place of the first.
 * @param {Pick<Approval, 'id' | 'action' | 'requester' | 'names'>} approval
 */
export function notify({ id, action, requester, names }) {
  if (!isOn()) return;
  const who = foreignPlain(names[requester.id] ?? requester.id);
  const body = `${who} asks ${ASKS[action] ?? 'to act on messages'}.`;
  const shown = newNotification('An approval waits for you', { body, tag: id });
  shown?.addEventListener('click', () => {
    focus();
    location.hash = `#/approvals/${id}`;
    shown.close();
  });
}

/**
 * Null where the browser refuses them to pages; they are then off.
 * @param {string} title
 * @param {NotificationOptions} options
 */
function newNotification(title, options) {
  try {
    return new Notification(title, options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    isRefused = true;
    localStorage.setItem(KEY, 'off');
    return null;
  }
}

/** Offers them where they could be turned on and are not. */
export const notificationOffer = () =>
  isPossible() && !isOn() && Notification.permission !== 'denied'
    ? h(
        'div',
        { class: 'quiet small offer' },
        h('p', null, 'Be told by the browser when something begins to wait for you.'),
        notificationSwitch(),
      )
    : null;

/** Says whether they are on, with a button that changes it; the browser asks the person only when it is pressed. */
export function notificationSwitch() {
  const place = h('div', { class: 'row' });
  const draw = () => {
    place.replaceChildren(
      ...(isPossible() ? partsOf(draw) : [h('p', { class: 'quiet' }, isRefused ? REFUSED : UNABLE)]),
    );
  };
  draw();
  return place;
}

const UNABLE = 'This browser shows notifications only for pages under https.';
const REFUSED = 'This browser lets no page show notifications.';
const DENIED = 'The browser blocks notifications of this page. Allow them in its settings for this site.';

/** @param {() => void} redraw */
function partsOf(redraw) {
  if (Notification.permission === 'denied') return [h('p', { class: 'quiet' }, DENIED)];
  const wanted = !isOn();
  const press = async () => {
    if (wanted && Notification.permission === 'default') await Notification.requestPermission();
    localStorage.setItem(KEY, wanted ? 'on' : 'off');
    redraw();
  };
  return [
    h('p', null, wanted ? 'Off in this browser.' : 'On in this browser, while the console is open.'),
    h(
      'button',
      { type: 'button', class: 'plain', on: { click: () => void press() } },
      wanted ? 'Turn on notifications' : 'Turn off notifications',
    ),
  ];
}
