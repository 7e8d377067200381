import { type BulkProducer, bulkProducer, peer as single } from './graphile.ts';
import type { Message, Peer, Producer } from './peer.ts';

const GROUP_MAX = 500;
const IN_FLIGHT = 2;

interface Waiting {
  readonly message: Message;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Sends that are made while a bulk call is under way travel together in the next; each resolves after its commit. */
function grouped(base: BulkProducer): Producer {
  let waiting: Waiting[] = [];
  let inFlight = 0;
  let planned = false;
  const pump = () => {
    planned = false;
    while (inFlight < IN_FLIGHT && waiting.length > 0) {
      const group = waiting.slice(0, GROUP_MAX);
      waiting = waiting.slice(GROUP_MAX);
      inFlight++;
      base.sendAll(group.map(({ message }) => message)).then(
        () => settle(group, null),
        (error: unknown) => settle(group, error),
      );
    }
  };
  const settle = (group: readonly Waiting[], error: unknown) => {
    inFlight--;
    for (const one of group) error === null ? one.resolve() : one.reject(error);
    pump();
  };
  return {
    send: (message) =>
      new Promise((resolve, reject) => {
        waiting.push({ message, resolve, reject });
        if (planned) return;
        planned = true;
        setImmediate(pump);
      }),
    close: () => base.close(),
  };
}

export const peer: Peer = {
  ...single,
  settings: `as graphile-worker, sends grouped by the client into calls of ${GROUP_MAX} at most`,
  producer: async (at) => grouped(await bulkProducer(at.postgres)),
};
