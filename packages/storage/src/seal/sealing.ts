import { randomBytes } from 'node:crypto';
import { AppError, type KeyWrap, type TenantId } from '@turnkeeper/core';
import { decrypt, encrypt } from './aes-gcm.ts';

/** Whose values they are. Bound into the seal: bytes copied to another row do not open. */
export interface SealOwner {
  readonly tenantId: TenantId;
  /** `tenants.data_key`. */
  readonly dataKey: Uint8Array;
  /** The agent or account, and its version. */
  readonly id: string;
  readonly version: number;
}

const DATA_KEY_BYTES = 32;

/** Seals the secrets of agents and accounts: one data key per tenant, kept wrapped; one sealed JSON object per version. */
export class Sealing {
  readonly #wrap: KeyWrap;

  constructor(wrap: KeyWrap) {
    this.#wrap = wrap;
  }

  /** For a new tenant: its data key, wrapped. */
  newDataKey(): Promise<Uint8Array> {
    return this.#wrap.wrap(randomBytes(DATA_KEY_BYTES));
  }

  /** Null when there is nothing to seal. */
  async seal(owner: SealOwner, values: Readonly<Record<string, string>>): Promise<Uint8Array | null> {
    if (Object.keys(values).length === 0) return null;
    const key = await this.#wrap.unwrap(owner.dataKey);
    return encrypt(key, Buffer.from(JSON.stringify(values)), contextOf(owner));
  }

  /** @throws AppError `secret_unresolved` */
  async open(owner: SealOwner, sealed: Uint8Array | null): Promise<Readonly<Record<string, string>>> {
    if (sealed === null) return {};
    const key = await this.#wrap.unwrap(owner.dataKey);
    try {
      return JSON.parse(Buffer.from(decrypt(key, sealed, contextOf(owner))).toString());
    } catch (cause) {
      throw new AppError({
        code: 'secret_unresolved',
        message: 'The stored secrets of this version cannot be opened: set them again.',
        cause,
      });
    }
  }
}

function contextOf({ tenantId, id, version }: SealOwner): string {
  return `${tenantId}/${id}/${version}`;
}
