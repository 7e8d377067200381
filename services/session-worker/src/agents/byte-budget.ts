/** Bytes that many hold together at most. Who asks for more than is left waits, first come, first served. */
export class ByteBudget {
  readonly #bytesMax: number;
  readonly #waiting: { readonly bytes: number; readonly go: () => void }[] = [];
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Resolves with what gives them back. More than there are at all counts as all. @throws the signal's reason */
  async take(bytes: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const wanted = Math.min(bytes, this.#bytesMax);
    if (this.#waiting.length > 0 || this.#used + wanted > this.#bytesMax) await this.#wait(wanted, signal);
    else this.#used += wanted;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#used -= wanted;
      this.#next();
    };
  }

  #wait(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter = {
        bytes,
        go: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        this.#next();
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #next(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || this.#used + first.bytes > this.#bytesMax) return;
      this.#waiting.shift();
      this.#used += first.bytes;
      first.go();
    }
  }
}
