/** A name server on loopback (UDP) with a few records; a name without records does not exist. */
import { createSocket } from 'node:dgram';

export type DnsRecord =
  | { readonly type: 'A'; readonly address: string }
  | { readonly type: 'MX'; readonly priority: number; readonly host: string }
  | {
      readonly type: 'SRV';
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly host: string;
    };

export interface DnsServer extends AsyncDisposable {
  /** `127.0.0.1:port`, as `dns.setServers` takes it. */
  readonly address: string;
  /** The names that were asked for, in order. */
  readonly asked: string[];
}

const TYPES = { A: 1, MX: 15, SRV: 33 } as const;
const SECONDS = 60;
const NO_SUCH_NAME = 3;

/** `silent`: names that are never answered. */
export async function dnsServer(
  records: Readonly<Record<string, readonly DnsRecord[]>>,
  silent: ReadonlySet<string> = new Set(),
): Promise<DnsServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, { port, address }) => {
    const { name, type, end } = questionOf(message);
    asked.push(name);
    if (silent.has(name)) return;
    const known = records[name];
    const answers = (known ?? []).filter((record) => TYPES[record.type] === type);
    const header = Buffer.alloc(12);
    message.copy(header, 0, 0, 2);
    // An answer; recursion as it was asked for, and available.
    header.writeUInt16BE(0x8180 | (known === undefined ? NO_SUCH_NAME : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    const question = message.subarray(12, end);
    socket.send(Buffer.concat([header, question, ...answers.map(answerOf)]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${String(socket.address().port)}`,
    asked,
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => { resolve(); })), // prettier-ignore
  };
}

function questionOf(message: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function answerOf(record: DnsRecord): Buffer {
  const data = dataOf(record);
  const head = Buffer.alloc(12);
  // The name of the question, by a pointer to it.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(TYPES[record.type], 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(SECONDS, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function dataOf(record: DnsRecord): Buffer {
  if (record.type === 'A') return Buffer.from(record.address.split('.').map(Number));
  const numbers = record.type === 'MX' ? [record.priority] : [record.priority, record.weight, record.port];
  const head = Buffer.alloc(numbers.length * 2);
  for (const [index, number] of numbers.entries()) head.writeUInt16BE(number, index * 2);
  return Buffer.concat([head, encodedName(record.host)]);
}

const encodedName = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split('.')
      .filter((label) => label !== '')
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);
