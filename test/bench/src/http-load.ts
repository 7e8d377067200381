import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '@turnkeeper/test-harness';

const CONNECTIONS = 256;
const SECONDS_MAX = 120;
/** What the script says when it has its answers: wrk itself would sleep to the end of its time. */
const ALL_ANSWERED = 'all answered';

/**
 * Sends `messages` over `lanes` lanes through HTTP, closed loop, 256 connections, each with an idempotency key of its
 * own. Made by wrk, whose own cost is a few microseconds a request.
 * @throws Error when wrk is missing, or when anything but 202 was answered
 */
export async function httpLoad(cluster: Cluster, lanes: number, messages: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-bench-'));
  try {
    const script = join(folder, 'load.lua');
    await writeFile(script, lua({ key: cluster.apiKey, run: randomBytes(4).toString('hex'), lanes, messages }));
    const url = `${cluster.ingress[0]?.url}/v1/messages`;
    const output = await run('wrk', [
      '-t1',
      `-c${CONNECTIONS}`,
      `-d${SECONDS_MAX}s`,
      '--timeout',
      '20s',
      '-s',
      script,
      url,
    ]);
    const bad = /bad=(\d+)/.exec(output)?.[1];
    if (bad !== '0') throw new Error(`not every request was accepted:\n${output}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function lua(load: { key: string; run: string; lanes: number; messages: number }): string {
  return `
sent, answered, bad, worst = -1, 0, 0, 0 -- wrk asks for one request that it does not send
local threads = {}
local headers = { ["Authorization"] = "Bearer ${load.key}", ["Content-Type"] = "application/json" }
setup = function(thread) table.insert(threads, thread) end
request = function()
  sent = sent + 1
  if sent > ${load.messages} then return wrk.format("GET", "/healthz") end
  headers["Idempotency-Key"] = "${load.run}-" .. sent
  local body = '{"sessionKey":"bench-${load.run}-' .. (sent % ${load.lanes}) .. '","text":"message ' .. sent .. ' of a benchmark, as long as people write"}'
  return wrk.format("POST", "/v1/messages", headers, body)
end
response = function(status)
  if status == 202 then answered = answered + 1 elseif status ~= 200 then bad, worst = bad + 1, status end
  if answered + bad >= ${load.messages} then
    io.write("${ALL_ANSWERED}\\n")
    io.flush()
    wrk.thread:stop()
  end
end
done = function() for _, thread in ipairs(threads) do print("bad=" .. thread:get("bad") .. " last status=" .. thread:get("worst")) end end
`;
}

function run(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
      if (output.includes(ALL_ANSWERED)) child.kill('SIGINT');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
    child.once('error', () => reject(new Error(`${command} is not installed: apt-get install ${command}`)));
    child.once('exit', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command} ended with ${code}:\n${output}`)),
    );
  });
}
