/** Mocha's JSON report leaves out the message of a cause, because that is no enumerable property of an `Error`. */
import type { Context } from 'mocha';

export const mochaHooks = {
  afterEach(this: Context): void {
    const error: unknown = this.currentTest?.err;
    if (!(error instanceof Error) || !(error.cause instanceof Error)) return;
    const { message } = error.cause;
    Object.defineProperty(error, 'cause', { value: { message }, enumerable: true });
  },
};
