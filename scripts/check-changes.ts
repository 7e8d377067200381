/** Gate: every file in .changeset/ names members of the workspace, says how they change, and tells the operator what. */
import { readFileSync } from 'node:fs';
import { trackedFiles } from './tracked-files.ts';

const members = new Set(
  trackedFiles(['packages/*/package.json', 'services/*/package.json']).map(
    (path) => (JSON.parse(readFileSync(path, 'utf8')) as { name: string }).name,
  ),
);

const changes = trackedFiles(['.changeset/*.md']).filter((path) => !path.endsWith('README.md'));
const faults = changes.flatMap((path) => changeFaults(path, readFileSync(path, 'utf8')));
for (const fault of faults) process.stdout.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;

function changeFaults(path: string, text: string): string[] {
  const parts = /^---\n(?<head>(?:.+\n)+)---\n(?<body>[\s\S]+)$/.exec(text)?.groups;
  if (parts === undefined) return [`${path}: needs a head between --- lines and a text for the operator`];
  const faults = parts['body']?.trim() === '' ? [`${path}: has no text for the operator`] : [];
  for (const line of (parts['head'] ?? '').trim().split('\n')) {
    const member = /^["'](.+)["']: (major|minor|patch)$/.exec(line)?.[1];
    if (member === undefined || !members.has(member)) faults.push(`${path}: "${line}" is not a member and a bump`);
  }
  return faults;
}
