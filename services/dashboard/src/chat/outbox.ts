/** A message that the server has not shown yet. */
export interface Outgoing {
  /** Its name, however often it is sent. */
  readonly clientId: string;
  readonly text: string;
  readonly uploads: readonly Upload[];
  readonly at: string;
  /** The server has it. */
  readonly isAccepted: boolean;
  /** Once it is accepted. */
  readonly runId?: string;
  /** Why the server will not have it. */
  readonly fault?: string;
}

export interface Upload {
  readonly id: string;
  readonly name: string;
  readonly mime: string;
  readonly size: number;
}

type Keep = Pick<Storage, 'getItem' | 'setItem'>;

/** Messages on their way, in order, kept over a reload of the page. */
export class Outbox {
  readonly #keep: Keep | null;
  readonly #name: string;
  #waiting: readonly Outgoing[];

  /** `keep`: null where the browser gives this page no storage. */
  constructor(keep: Keep | null, room: string) {
    this.#keep = keep;
    this.#name = `turnkeeper.outbox.${room}`;
    this.#waiting = JSON.parse(keep?.getItem(this.#name) ?? '[]') as readonly Outgoing[];
  }

  get waiting(): readonly Outgoing[] {
    return this.#waiting;
  }

  add(message: Pick<Outgoing, 'text' | 'uploads'>): Outgoing {
    const outgoing = { ...message, clientId: newName(), at: new Date().toISOString(), isAccepted: false };
    this.#set([...this.#waiting, outgoing]);
    return outgoing;
  }

  accepted(clientId: string, runId: string): void {
    this.#set(this.#waiting.map((one) => (one.clientId === clientId ? { ...one, isAccepted: true, runId } : one)));
  }

  failed(clientId: string, fault: string): void {
    this.#set(this.#waiting.map((one) => (one.clientId === clientId ? { ...one, fault } : one)));
  }

  /** These have come to an end without being shown: commands, and what a command has dropped. */
  ended(runIds: ReadonlySet<string>): void {
    if (this.#waiting.some(({ runId = '' }) => runIds.has(runId)))
      this.#set(this.#waiting.filter(({ runId = '' }) => !runIds.has(runId)));
  }

  /** It is in the conversation now, or is not to be sent. */
  remove(clientId: string): void {
    this.#set(this.#waiting.filter((one) => one.clientId !== clientId));
  }

  #set(waiting: readonly Outgoing[]): void {
    this.#waiting = waiting;
    this.#keep?.setItem(this.#name, JSON.stringify(waiting));
  }
}

/** (`crypto.randomUUID` is not there on pages without TLS.) */
function newName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
