import { systemClock } from '@turnkeeper/platform/process';
import { TenantSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago, shorten } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper tenants` */
export function registerTenants(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'tenants',
    description: 'the customers of this cluster (operators)',
    door: 'operator',
    path: '/tenants',
    row: TenantSchema.loose(),
    columns: [
      { title: 'tenant', of: (tenant) => shorten(tenant.name, 30) },
      { title: 'status', of: (tenant) => tenant.status },
      { title: 'rate/s', of: (tenant) => tenant.limits.ratePerSecond, right: true },
      { title: 'slots', of: (tenant) => tenant.limits.turnSlots, right: true },
      { title: 'queue', of: (tenant) => tenant.limits.queuedPerTenant, right: true },
      { title: 'made', of: (tenant) => ago(tenant.createdAt, nowMs), right: true },
    ],
    getBy: 'tenant',
  });
}
