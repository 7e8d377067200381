import type { KeyRecord, TenantConfig } from '@turnkeeper/core';
import type { Visitor } from './visitor.ts';

/** Who calls: a key of a tenant. */
export interface Caller {
  readonly kind: 'key';
  readonly key: KeyRecord;
  readonly tenant: TenantConfig;
}

/** Who calls where visitors may, too. */
export type Principal = Caller | Visitor;
