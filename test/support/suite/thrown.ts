import { GatewayError } from '../../../commands/values/errors.ts';

/** The refusal that `work` throws; any other error is passed on, and no throw is a failure. */
export function thrown(work: () => unknown): GatewayError {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('Expected a GatewayError.');
}
