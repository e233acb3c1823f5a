/** Refusals that no face makes: an id and the error body that every other refusal has. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../../commands/values/errors.ts';
import { uuidToId, uuidV7 } from '../../commands/values/ids.ts';
import { sendError } from '../../read-api/http/rest-answer.ts';

export const newRequestId = (): string => uuidToId('req', uuidV7(Date.now(), randomBytes(10)));

/** Answers with the error, under the id the request has already, or a new one. */
export function refuseRequest(response: ServerResponse, error: GatewayError): void {
  const known = response.getHeader('Request-Id');
  const requestId = typeof known === 'string' ? known : newRequestId();
  response.setHeader('Request-Id', requestId);
  sendError(response, error, requestId);
}
