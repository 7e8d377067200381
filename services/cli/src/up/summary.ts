import { relative } from 'node:path';
import { dim, paint } from '../output.ts';
import { DEFAULT_PORT } from './ports.ts';
import type { UpReport } from './up-file.ts';

const NAME_WIDTH = 20;

/** What a person wants to know once it runs: where it is, how to talk to it, how to stop it. */
export function summarize(from: {
  readonly report: UpReport;
  readonly agents: readonly string[];
  readonly dataDir: string;
  readonly portGiven: boolean;
}): string {
  const { report, agents, dataDir } = from;
  const [url = ''] = report.ingress;
  const data = relative(process.cwd(), dataDir) || '.';
  const model = agents.includes('llm') ? [['with your model', 'npx turnkeeper chat --agent llm']] : [];
  const moved = !from.portGiven && !url.endsWith(`:${DEFAULT_PORT}`);
  const taken = moved ? dim(`  (port ${DEFAULT_PORT} was taken)`) : '';
  return [
    '',
    `  ${paint('bold', 'Turnkeeper is running')}  ${paint(['cyan', 'underline'], url)}${taken}`,
    '',
    ...block([
      ['talk to the bot', 'npx turnkeeper chat'],
      ...model,
      ['look inside', 'npx turnkeeper runs | sessions | lanes | workers | explain <id>'],
      ['over HTTP', `curl ${url}/v1/messages -H "authorization: Bearer $KEY" \\`],
      ['', `  -H "content-type: application/json" -d '{"sessionKey":"hello","text":"Hi!"}'`],
    ]),
    '',
    ...block(report.processes.map((process) => [process.name, where(process, report)])),
    '',
    ...block([
      ['keys, addresses', `${data}/up.json`],
      ['logs', `${data}/logs`],
      ['stop', 'Ctrl-C; data are kept'],
    ]),
    '',
  ].join('\n');
}

function block(rows: readonly (readonly string[])[]): string[] {
  return rows.map(([name = '', text = '']) => `  ${dim(name.padEnd(NAME_WIDTH))}${text}`);
}

function where(process: UpReport['processes'][number], report: UpReport): string {
  const urls: Readonly<Record<string, string>> = {
    postgres: report.postgresUrl,
    redis: report.redisUrl,
    nats: report.natsUrl,
  };
  const pid = dim(`pid ${process.pid}`.padEnd(14));
  const index = report.processes.filter(({ name }) => name.startsWith('ingress')).indexOf(process);
  const address = urls[process.name] ? hostOf(urls[process.name] ?? '') : (report.ingress[index] ?? '');
  const internal = process.internal ? dim(`${address ? '  ' : ''}internal ${hostOf(process.internal)}`) : '';
  return `${pid}${address.replace('http://', '')}${internal}`;
}

function hostOf(url: string): string {
  return new URL(url).host;
}
