import type { Command } from 'commander';
import { CliError } from '../exit.ts';
import { createProgressLine } from '../load/progress.ts';
import { type LoadOptions, type LoadReport, runLoad } from '../load/run-load.ts';
import { paint, print, printOne } from '../output.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { wholeNumber } from './arguments.ts';

interface LoadFlags extends TargetFlags {
  readonly tenants: number;
  readonly lanes: number;
  readonly rate?: number;
  readonly seconds: number;
  readonly messages?: number;
  readonly concurrency: number;
  readonly delayMs: number;
  readonly listen: string;
  readonly json?: boolean;
}

const RATE_DEFAULT = 50;
const GIVE_UP_MS = 120_000;
const QUIET_MS = 30_000;
const CONNECTIONS_MAX = 256;

/** `turnkeeper load` */
export function registerLoad(program: Command): void {
  const command = program
    .command('load')
    .description(
      'send messages, receive the replies, and judge: nothing lost, doubled, reordered, overlapping; leaves what `verify` ' +
        'looks at: an agent and an account load-… and their conversations, in each tenant (and the tenants of --tenants)',
    )
    .option('--tenants <n>', 'spread over so many new tenants (needs the operator key)', wholeNumber(1, 10_000), 1)
    .option('--lanes <n>', 'conversations per tenant', wholeNumber(1, 1_000_000), 100)
    .option('--rate <r>', `open loop: messages a second (default ${RATE_DEFAULT})`, wholeNumber(1, 100_000))
    .option('--seconds <s>', 'open loop: for so long', wholeNumber(1, 86_400), 10)
    .option('--messages <n>', 'closed loop: so many messages, as fast as they are answered', wholeNumber(1, 10_000_000))
    .option('--concurrency <c>', 'closed loop: so many at once', wholeNumber(1, 10_000), 64)
    .option('--delay-ms <d>', 'how long the echo agent thinks', wholeNumber(0, 3_600_000), 0)
    .option('--listen <host>', 'address for the replies; the workers must reach it', '127.0.0.1')
    .option('--json', 'the last line of the output is the verdict as JSON');
  addTargetFlags(command, 'tenant', 'operator').action(async (flags: LoadFlags) => {
    const options = await optionsOf(flags);
    const stop = new AbortController();
    const interrupt = () => stop.abort();
    process.once('SIGINT', interrupt);
    const line = createProgressLine(process.stderr);
    try {
      const report = await runLoad(options, line.show, stop.signal);
      line.clear();
      show(report, flags.json === true);
    } finally {
      process.off('SIGINT', interrupt);
    }
  });
}

async function optionsOf(flags: LoadFlags): Promise<LoadOptions> {
  if (flags.rate !== undefined && flags.messages !== undefined) {
    throw new CliError('usage', 'Give --rate (open loop) or --messages (closed loop), not both.');
  }
  const target = await resolveTarget(flags);
  const { url, key } = target.tenant();
  const { messages, concurrency, seconds, rate = RATE_DEFAULT } = flags;
  return {
    urls: url.split(',').map((one) => one.replace(/\/+$/, '')),
    key,
    tenants: flags.tenants,
    operator: flags.tenants > 1 ? target.operator() : null,
    delayMs: flags.delayMs,
    lanes: flags.lanes,
    pace:
      messages === undefined
        ? { kind: 'open', ratePerSecond: rate, seconds }
        : { kind: 'closed', messages, concurrency },
    listenHost: flags.listen,
    connections: Math.min(CONNECTIONS_MAX, messages === undefined ? CONNECTIONS_MAX : concurrency),
    giveUpMs: GIVE_UP_MS,
    quietMs: QUIET_MS,
  };
}

function show(report: LoadReport, json: boolean): void {
  const { lost, doubled, reordered, overlapping } = report;
  const faults = lost + doubled + reordered + overlapping;
  if (json) {
    print(JSON.stringify(report));
  } else {
    const { accept, reply } = report.latencyMs;
    const line = (of: typeof accept) => `p50 ${of.p50} ms   p95 ${of.p95} ms   p99 ${of.p99} ms   max ${of.max} ms`;
    printOne(
      report,
      [
        { title: 'sent', of: (row) => row.sent },
        { title: 'accepted', of: (row) => row.accepted },
        { title: 'refused', of: (row) => row.refused },
        { title: 'answered', of: (row) => `${row.answered}   (${row.messagesPerSecond} a second)` },
        { title: 'accept', of: () => line(accept) },
        { title: 'reply', of: () => line(reply) },
        { title: 'lost', of: () => lost },
        { title: 'doubled', of: () => doubled },
        { title: 'reordered', of: () => reordered },
        { title: 'overlapping', of: () => overlapping },
      ],
      'table',
    );
    print(faults === 0 ? paint('green', 'No fault found.') : paint('red', `${faults} faults found.`));
  }
  if (faults > 0)
    throw new CliError('verdict', 'The load run broke a promise; `turnkeeper verify` looks into the rows.');
}
