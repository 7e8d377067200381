import { randomBytes } from 'node:crypto';
import { AppError, type KeyWrap, type TenantId } from '@turnkeeper/core';
import { decrypt, encrypt } from './aes-gcm.ts';

/** Whose values they are: an agent or account, and its version. Bound into the seal: bytes copied to another row do not open. */
export interface SealOwner {
  readonly id: string;
  readonly version: number;
}

export type Secrets = Readonly<Record<string, string>>;

const DATA_KEY_BYTES = 32;

/** Secrets of agents and accounts at rest: one data key per tenant, kept wrapped by the server's key. */
export class Sealing {
  readonly #wrap: KeyWrap;

  constructor(wrap: KeyWrap) {
    this.#wrap = wrap;
  }

  /** For a new tenant: its data key, wrapped. */
  newDataKey(): Promise<Uint8Array> {
    return this.#wrap.wrap(randomBytes(DATA_KEY_BYTES));
  }

  /** What seals and opens for one tenant. May ask a KMS: never inside a transaction. @throws AppError `secret_unresolved` */
  async ofTenant(tenantId: TenantId, dataKey: Uint8Array): Promise<TenantSeal> {
    return new TenantSeal(tenantId, await this.#wrap.unwrap(dataKey));
  }
}

/** One sealed JSON object per version. Needs nobody: safe inside a transaction. */
export class TenantSeal {
  readonly #tenantId: TenantId;
  readonly #key: Uint8Array;

  constructor(tenantId: TenantId, key: Uint8Array) {
    this.#tenantId = tenantId;
    this.#key = key;
  }

  /** Null when there is nothing to seal. */
  seal(owner: SealOwner, secrets: Secrets): Uint8Array | null {
    if (Object.keys(secrets).length === 0) return null;
    return encrypt(this.#key, Buffer.from(JSON.stringify(secrets)), this.#contextOf(owner));
  }

  /** @throws AppError `secret_unresolved` */
  open(owner: SealOwner, sealed: Uint8Array | null): Secrets {
    if (sealed === null) return {};
    try {
      return JSON.parse(Buffer.from(decrypt(this.#key, sealed, this.#contextOf(owner))).toString());
    } catch (cause) {
      throw new AppError({
        code: 'secret_unresolved',
        message: 'The stored secrets of this version cannot be opened: set them again.',
        cause,
      });
    }
  }

  #contextOf({ id, version }: SealOwner): string {
    return `${this.#tenantId}/${id}/${version}`;
  }
}
