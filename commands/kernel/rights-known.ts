/** No rights, policies or legal holds are known while this process may lack a change that another has answered. */
import type { Directory } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';

/** Waits until none can be missing, at most a second; a busy process needs a moment. Throws `store_unavailable`. */
export async function untilRightsKnown(
  directory: Pick<Directory, 'isCurrent' | 'untilCurrent'>,
): Promise<void> {
  if (directory.isCurrent || (await directory.untilCurrent())) return;
  throw new GatewayError('store_unavailable', 'Access rights are being loaded; try again.');
}
