import { CLOSE_CODES } from '@turnkeeper/protocol';
import type { SocketLink } from './socket-link.ts';

/** All sockets of this node until they are gone, known or not: their signs of life, and their end. */
export class OpenSockets implements Disposable {
  readonly #links = new Set<SocketLink>();

  add(link: SocketLink): void {
    this.#links.add(link);
    link.onGone(() => this.#links.delete(link));
  }

  /** To be called every 20 s: who did not answer the last time is gone. */
  ping(): void {
    for (const link of this.#links) link.ping();
  }

  /** Those that nobody has said anything about yet; the others end as streams, a few at a time. */
  drain(): void {
    for (const link of this.#links) if (!link.isKnown) link.end(CLOSE_CODES.drain, 'drain');
  }

  /** Cuts what is left: a server does not close before its upgraded connections do. */
  [Symbol.dispose](): void {
    for (const link of this.#links) link.cut();
  }
}
