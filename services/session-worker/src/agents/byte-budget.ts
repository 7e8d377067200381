export interface ByteBudgetLimits {
  readonly bytesMax: number;
  /** Of one tenant: its slow turns leave room for those of others. */
  readonly tenantBytesMax: number;
}

interface Waiter {
  readonly tenantId: string;
  readonly bytes: number;
  readonly go: () => void;
}

/**
 * Bytes that many hold together at most. Who asks for more than is left waits, first come, first served; but nobody waits
 * for the share of another tenant.
 */
export class ByteBudget {
  readonly #limits: ByteBudgetLimits;
  readonly #usedBy = new Map<string, number>();
  readonly #waiting: Waiter[] = [];
  #used = 0;

  constructor(limits: ByteBudgetLimits) {
    this.#limits = limits;
  }

  /** Resolves with what gives them back. More than a tenant's share at all counts as all of it. @throws the signal's reason */
  async take(tenantId: string, bytes: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const wanted = Math.min(bytes, this.#limits.tenantBytesMax, this.#limits.bytesMax);
    await this.#wait({ tenantId, bytes: wanted }, signal);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#add(tenantId, -wanted);
      this.#next();
    };
  }

  #wait(wanted: Pick<Waiter, 'tenantId' | 'bytes'>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter = {
        ...wanted,
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
      this.#next();
    });
  }

  /** Whoever is first of its tenant goes when its tenant has room, unless one before it, whose tenant has room too, waits for all. */
  #next(): void {
    const full = new Set<string>();
    for (const waiter of [...this.#waiting]) {
      const { tenantId, bytes } = waiter;
      const isFull = (this.#usedBy.get(tenantId) ?? 0) + bytes > this.#limits.tenantBytesMax;
      if (isFull) full.add(tenantId);
      if (full.has(tenantId)) continue;
      if (this.#used + bytes > this.#limits.bytesMax) return;
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      this.#add(tenantId, bytes);
      waiter.go();
    }
  }

  #add(tenantId: string, bytes: number): void {
    this.#used += bytes;
    const used = (this.#usedBy.get(tenantId) ?? 0) + bytes;
    if (used === 0) this.#usedBy.delete(tenantId);
    else this.#usedBy.set(tenantId, used);
  }
}
