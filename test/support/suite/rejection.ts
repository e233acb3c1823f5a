/** The error a promise is rejected with. Throws when it is fulfilled. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error('Expected a rejection with an error.');
}
