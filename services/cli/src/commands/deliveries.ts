import { systemClock } from '@turnkeeper/platform/clock';
import { DELIVERY_STATUSES, DeliverySchema } from '@turnkeeper/protocol';
import { type Command, Option } from 'commander';
import { callApi } from '../api.ts';
import { addOutputFlag, type OutputFormat } from '../output.ts';
import { ago, shorten } from '../show.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { sessionInPath } from './arguments.ts';
import { printAnswer, registerNoun } from './nouns.ts';

/** `turnkeeper deliveries list|get|retry|resolve` */
export function registerDeliveries(program: Command): void {
  const nowMs = systemClock.nowMs();
  const deliveries = registerNoun(program, {
    noun: 'deliveries',
    description: 'what became of each message on its way out, newest first',
    door: 'tenant',
    path: '/deliveries',
    row: DeliverySchema.loose(),
    columns: [
      { title: 'delivery', of: (delivery) => delivery.deliveryId },
      { title: 'status', of: (delivery) => delivery.status },
      { title: 'session', of: (delivery) => shorten(delivery.sessionKey, 20) },
      { title: 'sends', of: (delivery) => delivery.attempts, right: true },
      { title: 'error', of: (delivery) => shorten(delivery.error?.code ?? '', 16) },
      { title: 'age', of: (delivery) => ago(delivery.createdAt, nowMs), right: true },
    ],
    filters: [
      { flag: '--status <status>', param: 'status', help: `one of ${DELIVERY_STATUSES.join(', ')}` },
      {
        flag: '--session <session>',
        param: 'session',
        help: 'of this conversation (ses_… or its key)',
        written: sessionInPath,
      },
      { flag: '--run <run>', param: 'runId', help: 'of this run' },
      { flag: '--agent <agent>', param: 'agentId', help: 'of this agent (name or id)' },
      { flag: '--account <account>', param: 'accountId', help: 'through this account (name or id)' },
    ],
    getBy: 'delivery',
  });
  verbOf(deliveries, 'retry', 'send it now; what may have arrived is marked as recovered').action(
    (delivery: string, flags: Flags) => call(delivery, 'retry', { flags, body: {} }),
  );
  verbOf(deliveries, 'resolve', 'say that it arrived, or give it up')
    .addOption(
      new Option('--outcome <outcome>', 'what became of it').choices(['delivered', 'abandoned']).makeOptionMandatory(),
    )
    .action((delivery: string, flags: Flags & { readonly outcome: string }) =>
      call(delivery, 'resolve', { flags, body: { outcome: flags.outcome } }),
    );
}

interface Flags extends TargetFlags {
  readonly output: OutputFormat;
}

function verbOf(deliveries: Command, verb: string, help: string): Command {
  const command = deliveries.command(verb).description(help).argument('<delivery>');
  return addTargetFlags(addOutputFlag(command), 'tenant');
}

async function call(
  delivery: string,
  verb: string,
  { flags, body }: { readonly flags: Flags; readonly body: object },
): Promise<void> {
  const target = await resolveTarget(flags);
  const path = `/v1/deliveries/${encodeURIComponent(delivery)}/${verb}`;
  printAnswer(await callApi({ ...target.tenant(), method: 'POST', path, body }), flags.output);
}
