/** The pages for people without a session, by their address. */
import { forgotView, resendView, signUpView } from './sign-up-views.js';

/** @typedef {(door: import('./sign-in-views.js').Door) => import('./sign-in-views.js').View} DoorView */

/** @type {Readonly<Record<string, DoorView>>} */
const DOORS = { '#/sign-up': signUpView, '#/forgot': forgotView, '#/verify': resendView };

/** @param {string} hash */
export const doorAt = (hash) => DOORS[hash] ?? null;
