/** A store without free space: it can be reached but refuses writes. */
import { GatewayError } from '../../commands/values/errors.ts';

/** SQLSTATE `disk_full`. */
const DISK_FULL = '53100';

/** The text for a full disk, from the embedded event node and from operating systems. */
export const NO_SPACE_TEXT = 'No space left on device';

/** A write that failed for lack of space. */
export class DiskFull extends GatewayError {
  constructor(cause: unknown) {
    const message =
      'There is no space left where the gateway stores its data; try again when its operator has made room.';
    super('store_unavailable', message, { cause });
  }
}

/** True for Postgres' error for a statement that found no space. The statement had no effect. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === DISK_FULL;
