/** An exported audit file with the verdict of the verifier on it. */
import { Readable } from 'node:stream';
import { verifyAudit } from '../../../infra/console/verify-audit.mjs';
import type { TestGateway } from './gateway.ts';
import type { SignedInPerson } from './sign-in.ts';

interface Verdict {
  readonly exit: number;
  readonly code: string | null;
  /** Texts that are erased by a line of the file, and those without. */
  readonly erased: number;
  readonly erasedUnproven: number;
}

/** With the keys that the file names; `known` are notes of checkpoints that were kept outside. */
export async function exportedFile(
  { baseUrl }: Pick<TestGateway, 'baseUrl'>,
  { bearer }: Pick<SignedInPerson, 'bearer'>,
  query: string,
  known: readonly string[] = [],
): Promise<{ readonly text: string; readonly verdict: Verdict }> {
  const answer = await fetch(`${baseUrl}/api/v1/audit/export?${query}`, {
    headers: { authorization: `Bearer ${bearer}` },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(text);
  const { keys } = JSON.parse(text.split('\n', 1)[0] ?? '') as { readonly keys: readonly string[] };
  const { exit, code, facts } = await verifyAudit(Readable.from([Buffer.from(text)]), { keys, known });
  const { erased, erased_unproven } = facts ?? {};
  return { text, verdict: { exit, code, erased: Number(erased), erasedUnproven: Number(erased_unproven) } };
}
