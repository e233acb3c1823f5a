import { GatewayError } from '../../../commands/values/errors.ts';

/** The refusal `work` throws; anything else it throws is passed on, and no throw at all is a failure. */
export function thrown(work: () => unknown): GatewayError {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('Expected a GatewayError.');
}
