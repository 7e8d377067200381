import { channelOf } from '@turnkeeper/channels';
import { AppError } from '@turnkeeper/core';
import { AccountBodySchema } from '@turnkeeper/protocol';
import { z } from 'zod';
import { type Fault, type Path, pathOf } from './config-file.ts';

const TenantsSchema = z.looseObject({ tenants: z.array(z.unknown()) });
const AccountsSchema = z.looseObject({ accounts: z.array(z.unknown()) });

/**
 * What the channels of accounts say against their options and secrets, wherever the rest of the document is sound enough to
 * ask them. Which secrets an account keeps from before only the server knows: a missing one is for it to refuse.
 */
export function accountFaults(document: unknown): Fault[] {
  const tenants = TenantsSchema.safeParse(document).data?.tenants ?? [];
  return tenants.flatMap((tenant, t) => {
    const accounts = AccountsSchema.safeParse(tenant).data?.accounts ?? [];
    return accounts.flatMap((account, a) => faultsOf(account, ['tenants', t, 'accounts', a]));
  });
}

function faultsOf(body: unknown, place: Path): Fault[] {
  const account = AccountBodySchema.safeParse(body).data;
  if (account === undefined) return [];
  const { options = {}, secrets = {} } = account;
  try {
    const channel = channelOf(account.channel);
    channel.checkAccount({ options, secrets, keptSecrets: channel.manifest.secretNames });
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { fields, message } = error;
    return fields.map(({ pointer, why = message }) => ({ path: [...place, ...pathOf(pointer)], message: why }));
  }
}
