/** A store that has no room left: it can be reached, and refuses what is to be written. */
import { GatewayError } from '../../commands/values/errors.ts';

/** SQLSTATE `disk_full`. */
export const DISK_FULL = '53100';

/** What the embedded event node answers, and what an operating system says of a full disk. */
export const NO_SPACE_TEXT = 'No space left on device';

/** A write that failed because there is no room for it. */
export class DiskFull extends GatewayError {
  constructor(cause: unknown) {
    const message =
      'There is no space left where the gateway stores its data; try again when its operator has made room.';
    super('store_unavailable', message, { cause });
  }
}

/** True for what Postgres answers to a statement that found no room. The statement did nothing. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === DISK_FULL;
