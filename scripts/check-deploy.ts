/**
 * Gate: renders each overlay of deploy/kubernetes with kustomize, holds the types of the Kubernetes API and the rules of
 * scripts/deploy/ against it, and looks at the compose file and the Dockerfile. Needs neither a cluster nor an engine.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { clusterFaults } from './deploy/cluster-policies.ts';
import { composeFaults } from './deploy/compose-policies.ts';
import { dockerfileFaults } from './deploy/dockerfile.ts';
import { type Rendered, typeFaults } from './deploy/kubernetes-types.ts';
import { renderKustomization } from './deploy/kustomize.ts';
import type { Manifest } from './deploy/manifests.ts';
import { podFaults } from './deploy/pod-policies.ts';

const OVERLAYS = 'deploy/kubernetes/overlays';
const SECRETS = 'deploy/kubernetes/secrets.env.example';

const rendered = readdirSync(OVERLAYS).flatMap((name) => render(`${OVERLAYS}/${name}`));
const faults = [
  ...kubernetesFaults(rendered),
  ...composeFaults('deploy/compose/compose.yaml', 'deploy/compose/.env.example'),
  ...dockerfileFaults('deploy/docker/Dockerfile'),
];
for (const fault of faults) process.stdout.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
else process.stdout.write(`${rendered.length} manifests, a compose file and an image are as they should be.\n`);

function render(folder: string): Rendered[] {
  const documents = parseAllDocuments(renderKustomization(folder));
  return documents.map((document) => ({ from: folder, document: document.toJSON() }));
}

function kubernetesFaults(all: readonly Rendered[]): string[] {
  const wrong = typeFaults(all);
  if (wrong.length > 0) return wrong;
  const keys = new Set(readFileSync(SECRETS, 'utf8').match(/^[a-z-]+(?==)/gm));
  return [...new Set(all.map(({ from }) => from))].flatMap((folder) => {
    const own = all.filter(({ from }) => from === folder);
    // the compiler has just held each against the type of its kind
    const manifests = own.map(({ document }) => document as Manifest);
    return [...podFaults(manifests, keys), ...clusterFaults(manifests)].map((fault) => `${folder}: ${fault}`);
  });
}
