import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@turnkeeper/core';
import { systemClock } from '@turnkeeper/platform/clock';
import { type TenantReceipt, TenantReceiptSchema, TenantSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { z } from 'zod';
import { callApi } from '../api.ts';
import { CliError } from '../exit.ts';
import { addOutputFlag, type OutputFormat, print, printOne } from '../output.ts';
import { ago, shorten } from '../show.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper tenants` */
export function registerTenants(program: Command): void {
  const nowMs = systemClock.nowMs();
  const noun = registerNoun(program, {
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
  registerVerbs(noun);
}

interface VerbFlags extends TargetFlags {
  readonly output: OutputFormat;
  readonly yes?: boolean;
  readonly wait?: boolean;
}

const CreatedSchema = z.looseObject({
  changes: z.array(z.looseObject({ result: z.string(), secret: z.string().optional() })),
});

function registerVerbs(noun: Command): void {
  addVerb(noun, 'create', 'make a tenant with an owner key, shown this once').action(create);
  const setStatus = (status: 'active' | 'suspended') => async (name: string, flags: VerbFlags) => {
    await callApi({ ...(await pathOf(name, flags)), method: 'PATCH', body: { status } });
    print(`${name} is ${status} on every node within 5 s.`);
  };
  addVerb(noun, 'suspend', 'refuse its keys and hooks, start none of its turns').action(setStatus('suspended'));
  addVerb(noun, 'unsuspend', 'let a suspended tenant go on').action(setStatus('active'));
  addVerb(noun, 'delete', 'delete a tenant and all it has, for good')
    .option('--yes', 'do it')
    .option('--wait', 'until nothing is left, ten minutes at most')
    .action(remove);
  addVerb(noun, 'receipt', 'show what a deletion has taken away so far').action(showReceipt);
}

function addVerb(noun: Command, verb: string, description: string): Command {
  const command = noun.command(verb).argument('<tenant>').description(description);
  return addTargetFlags(addOutputFlag(command), 'operator');
}

async function pathOf(name: string, flags: VerbFlags) {
  return { ...(await resolveTarget(flags)).operator(), path: `/admin/v1/tenants/${encodeURIComponent(name)}` };
}

async function create(name: string, flags: VerbFlags): Promise<void> {
  const call = await pathOf(name, flags);
  if (await isThere(call)) throw new CliError('failed', `${name} exists already.`);
  const body = { keys: [{ name: 'owner', preset: 'owner' }] };
  const { changes } = CreatedSchema.parse(await callApi({ ...call, method: 'PUT', body }));
  const secret = changes.find((change) => change.secret !== undefined)?.secret ?? null;
  printOne(
    { tenant: name, key: secret },
    [
      { title: 'tenant', of: () => name },
      { title: 'key', of: () => secret },
    ],
    flags.output,
  );
}

async function isThere(call: Awaited<ReturnType<typeof pathOf>>): Promise<boolean> {
  try {
    await callApi(call);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false;
    throw error;
  }
}

const LOOK_EVERY_MS = 1_000;
const WAIT_MS_MAX = 600_000;

async function remove(name: string, flags: VerbFlags): Promise<void> {
  if (flags.yes !== true)
    throw new CliError('usage', `This deletes ${name} and all it has, for good: repeat it with --yes.`);
  const call = await pathOf(name, flags);
  let receipt = TenantReceiptSchema.parse(await callApi({ ...call, method: 'DELETE' }));
  const untilMs = systemClock.monotonicMs() + WAIT_MS_MAX;
  while (flags.wait === true && receipt.status === 'deleting') {
    if (systemClock.monotonicMs() > untilMs) {
      const look = `turnkeeper tenants receipt ${receipt.tenantId}`;
      throw new CliError('failed', `${name} is still being deleted: "${look}" tells how far it is.`);
    }
    await sleep(LOOK_EVERY_MS);
    receipt = await readReceipt(receipt.tenantId, flags);
  }
  printReceipt(receipt, flags);
}

async function showReceipt(name: string, flags: VerbFlags): Promise<void> {
  printReceipt(await readReceipt(name, flags), flags);
}

async function readReceipt(tenant: string, flags: VerbFlags): Promise<TenantReceipt> {
  const { path, ...door } = await pathOf(tenant, flags);
  return TenantReceiptSchema.parse(await callApi({ ...door, path: `${path}/receipt` }));
}

function printReceipt(receipt: TenantReceipt, { output }: VerbFlags): void {
  const rows = Object.entries(receipt.rows).map(([table, count]) => `${count} ${table}`);
  printOne(
    receipt,
    [
      { title: 'tenant', of: () => `${receipt.name} (${receipt.tenantId})` },
      { title: 'status', of: () => receipt.status },
      { title: 'rows', of: () => rows.join(', ') },
    ],
    output,
  );
}
