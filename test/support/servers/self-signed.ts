/** A self-signed certificate, made by openssl and valid for two days. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface SelfSigned {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** Writes certificate and key, PEM, into the folder. */
export async function selfSigned(folder: string, name = 'localhost'): Promise<SelfSigned> {
  const certificateFile = join(folder, 'certificate.pem');
  const keyFile = join(folder, 'key.pem');
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-days', '2', '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  await run('openssl', [...request, ...subject, '-keyout', keyFile, '-out', certificateFile]);
  return { certificateFile, keyFile };
}
