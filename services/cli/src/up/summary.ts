import { join, relative } from 'node:path';
import { dim, paint } from '../output.ts';
import { isDefaultDataDir } from '../target.ts';
import { DEFAULT_PORT } from './ports.ts';
import type { UpProcess, UpReport } from './up-file.ts';

const NAME_WIDTH = 20;
const PID_WIDTH = 14;
const ADDRESS_WIDTH = 20;

/** What a person wants to know once it runs: where it is, how to talk to it, how to stop it. */
export function summarize(from: {
  readonly report: UpReport;
  readonly agents: readonly string[];
  readonly dataDir: string;
  readonly portGiven: boolean;
}): string {
  const { report, agents } = from;
  const [url = ''] = report.ingress;
  const data = shortest(from.dataDir);
  const moved = !from.portGiven && !url.endsWith(`:${DEFAULT_PORT}`);
  const taken = moved ? dim(`  (port ${DEFAULT_PORT} was taken)`) : '';
  const folder = isDefaultDataDir(from.dataDir) ? '' : ` --data ${data}`;
  const model = agents.includes('llm') ? [['talk to your model', `npx turnkeeper chat --agent llm${folder}`]] : [];
  return [
    '',
    `  ${paint('bold', 'Turnkeeper is running')}  ${paint('cyan', url)}${taken}`,
    '',
    ...block([
      ...(report.chat === undefined ? [] : [['chat', report.chat]]),
      ['talk to the bot', `npx turnkeeper chat${folder}`],
      ...model,
      ['look inside', `npx turnkeeper runs${folder}   (or sessions, lanes, workers, doctor)`],
      ['from a program', `POST ${url}/v1/messages`],
      ['addresses and keys', join(data, 'up.json')],
      ['logs', join(data, 'logs')],
      ['stop', 'Ctrl-C (data are kept)'],
    ]),
    '',
    ...block(report.processes.map((process) => [process.name, whereabouts(process, report)])),
    '',
  ].join('\n');
}

function block(rows: readonly (readonly string[])[]): string[] {
  return rows.map(([name = '', text = '']) => `  ${dim(name.padEnd(NAME_WIDTH))}${text}`);
}

function whereabouts(process: UpProcess, report: UpReport): string {
  const pid = `pid ${process.pid}`.padEnd(PID_WIDTH);
  const address = publicAddress(process, report).padEnd(ADDRESS_WIDTH);
  const internal = process.internal ? dim(`internal ${hostOf(process.internal)}`) : '';
  return `${pid}${address}${internal}`.trimEnd();
}

function publicAddress({ name, internal }: UpProcess, report: UpReport): string {
  const stores = new Map([
    ['postgres', report.postgresUrl],
    ['redis', report.redisUrl],
    ['nats', report.natsUrl],
  ]);
  const url = stores.get(name) ?? report.ingress[report.internal.indexOf(internal ?? '')];
  return url === undefined ? '' : hostOf(url);
}

function hostOf(url: string): string {
  return new URL(url).host;
}

/** As seen from here, unless that climbs up. */
function shortest(path: string): string {
  const near = relative(process.cwd(), path);
  return near === '' || near.startsWith('..') ? path : near;
}
