/** Attachments as a person has to see them: the whole name, size and hash, and what opening one may do. */
import { dangersOfName } from '../../commands/sending/attachment-warnings.ts';
import { bytesText } from '../../commands/values/counted.ts';
import type { SendManifest } from '../../commands/operations/manifest.ts';
import type { Fact } from './render-document.ts';

/** The attachment in a line. */
export const attachmentFact = ({
  filename,
  content_type,
  size,
  sha256,
}: SendManifest['attachments'][number]): Fact => ({
  text: filename ?? 'without a name',
  notes: [content_type, bytesText(size), `SHA-256 ${sha256}`],
  warnings: filename === null ? [] : dangersOfName(filename),
});
