import { GatewayError } from '../../../commands/values/errors.ts';

/** The answer, or null for one of the refusals; none = it must succeed. Else throws, naming the step. */
export async function expectAnswer<Answer>(
  refused: readonly string[],
  asking: Promise<Answer>,
  step: object,
): Promise<Answer | null> {
  try {
    const answer = await asking;
    if (refused.length > 0)
      throw new Error(`${JSON.stringify(step)} is to be refused with ${refused.join(' or ')}`);
    return answer;
  } catch (error) {
    if (error instanceof GatewayError && refused.includes(error.code)) return null;
    if (error instanceof GatewayError)
      throw new Error(
        `${JSON.stringify(step)} met ${error.code}: ${error.message}; allowed: ${refused.join()}`,
        { cause: error },
      );
    throw error;
  }
}
