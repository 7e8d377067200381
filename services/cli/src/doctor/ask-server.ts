import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';

const DEADLINE_MS = 3000;

/**
 * Connects to the host of a URL, writes a question and collects the answer until `whole` says that it is there.
 * @throws the socket's error, or one that says that no answer came in time
 */
export function askServer(from: {
  readonly url: URL;
  readonly port: number;
  readonly tls: boolean;
  readonly question: string;
  readonly whole: (answer: string) => boolean;
}): Promise<string> {
  const { url, question, whole } = from;
  const where = { host: url.hostname, port: Number(url.port) || from.port };
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = from.tls ? connectTls({ ...where, servername: url.hostname }) : connectTcp(where);
    const end = (act: () => void) => {
      clearTimeout(timer);
      socket.destroy();
      act();
    };
    const timer = setTimeout(() => end(() => reject(new Error('no answer in time'))), DEADLINE_MS);
    socket.setEncoding('latin1');
    socket.once(from.tls ? 'secureConnect' : 'connect', () => socket.write(question));
    socket.on('data', (chunk: string) => {
      answer += chunk;
      if (whole(answer)) end(() => resolve(answer));
    });
    socket.once('error', (err) => end(() => reject(err)));
    socket.once('close', () => end(() => reject(new Error('the connection was closed'))));
  });
}
