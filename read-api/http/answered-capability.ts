/** Which capability an answer is of: for metrics and the access log, which stand around both faces. */
import type { ServerResponse } from 'node:http';

const answered = new WeakMap<ServerResponse, string>();

/** Called by a face once it knows the capability. */
export const noteCapability = (response: ServerResponse, name: string): void => {
  answered.set(response, name);
};

/** Null when no capability was reached. */
export const capabilityOf = (response: ServerResponse): string | null => answered.get(response) ?? null;
