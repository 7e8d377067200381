import type { BootId, ControlSignals, TenantId, TurnId } from '@turnkeeper/core';
import { readGoodbye, readStopTurn, writeGoodbye, writeStopTurn } from '@turnkeeper/protocol';
import type { BusLink } from './bus-link.ts';
import { goodbyeSubject, stopTurnSubject } from './subjects.ts';

/**
 * Signals to workers. One that is lost or cannot be read costs up to the two seconds after which the rows are polled;
 * each hears all of them and keeps those that name a turn of its own.
 */
export class NatsControlSignals implements ControlSignals {
  readonly #link: BusLink;

  constructor(link: BusLink) {
    this.#link = link;
  }

  stopTurn(tenantId: TenantId, turnId: TurnId): void {
    this.#link.publish(stopTurnSubject(this.#link.prefix, tenantId), writeStopTurn(turnId));
  }

  onStopTurn(handler: (turnId: TurnId) => void): () => void {
    return this.#link.subscribe(stopTurnSubject(this.#link.prefix, '*'), (text) => {
      const turnId = readStopTurn(text);
      if (turnId !== null) handler(turnId);
    });
  }

  sayGoodbye(bootId: BootId): void {
    this.#link.publish(goodbyeSubject(this.#link.prefix), writeGoodbye(bootId));
  }

  onGoodbye(handler: (bootId: BootId) => void): () => void {
    return this.#link.subscribe(goodbyeSubject(this.#link.prefix), (text) => {
      const bootId = readGoodbye(text);
      if (bootId !== null) handler(bootId);
    });
  }
}
