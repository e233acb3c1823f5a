/** Sends bytes that no HTTP client would send, unchanged. */
import net from 'node:net';

/** Writes the text and resolves with all received bytes when the other side closes; rejects otherwise. */
export function exchange(port: number, text: string, withinMs = 20_000): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    socket.setTimeout(withinMs, () => {
      socket.destroy(new Error(`the connection was left open: ${answer}`));
    });
    socket.setEncoding('utf8').on('data', (piece: string) => (answer += piece));
    // A connection with unread bytes ends with a reset after the answer.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' && answer !== '') resolve(answer);
      else reject(error);
    });
    socket.on('end', () => {
      socket.destroy();
      resolve(answer);
    });
  });
}
