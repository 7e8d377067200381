/**
 * Who may import whom. An arrow that is not listed under `allowed` is an error; external clients have one home each.
 * Public names resolve through the `exports` maps, so a deep import of another member does not resolve at all.
 */

const core = '^packages/core/';
const protocol = '^packages/protocol/';
const client = '^packages/client/';
const outside = { dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'core', 'unknown'] };
const npm = (names) => `(^|/)node_modules/(${names})/`;
const tests = '[.]test[.]tsx?$';

/** What must work without a running cluster reads the database itself: these commands only, and their folders. */
const commandsWithDatabase = '^services/cli/src/(commands/)?(migrate|partitions|verify|doctor|up)[./]';

const homes = [
  ['kysely|pg|pg-[a-z-]+', '^packages/storage/', 'the database is reached through @turnkeeper/storage'],
  ['bullmq|ioredis', '^packages/queue/', 'Redis is reached through @turnkeeper/queue'],
  ['nats|@nats-io/[a-z-]+', '^packages/bus/', 'NATS is reached through @turnkeeper/bus'],
  [
    'undici',
    '^(packages/platform/src/egress|services/cli)/|[.]test[.]ts$',
    'requests go out through @turnkeeper/platform/egress',
  ],
  ['zod', '^(packages/(protocol|channels|platform)|services)/', 'inner code trusts parsed types'],
];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment: 'Two modules that need each other are one module, or need a third; types count.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment:
        'Not found, or not in the exports map of the other member. The peers of the benchmark are installed by it alone.',
      severity: 'error',
      from: { pathNot: '^test/bench/peers/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'by-name',
      comment: 'Another member is imported by its name, never by a path into it.',
      severity: 'error',
      from: { path: '^((packages|services|test)/[^/]+)/' },
      to: { path: '^(packages|services|test)/', pathNot: '^$1/', dependencyTypesNot: ['aliased-workspace'] },
    },
    {
      name: 'pure',
      comment: 'core and protocol do no I/O; browsers load them, and the client.',
      severity: 'error',
      from: { path: [core, protocol, client], pathNot: tests },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'client-alone',
      comment: 'The client needs nothing but fetch: of others it may know types.',
      severity: 'error',
      from: { path: client, pathNot: tests },
      to: { pathNot: client, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'core-libraries',
      comment: 'core needs hashes and nothing else; its contract suites need vitest.',
      severity: 'error',
      from: { path: core, pathNot: [tests, '/src/testing/'] },
      to: { path: 'node_modules/', pathNot: npm('@noble/hashes') },
    },
    ...homes.map(([names, home, reason]) => ({
      name: `home-of-${names.split('|')[0]}`,
      comment: reason,
      severity: 'error',
      from: { pathNot: [home, '^test/', '^scripts/'] },
      to: { path: npm(names) },
    })),
  ],
  allowedSeverity: 'error',
  allowed: [
    { from: {}, to: outside },
    { from: { path: '^((packages|services|test)/[^/]+)/' }, to: { path: '^$1/' } },
    { from: { path: '^scripts/' }, to: { path: '^(scripts|packages|services)/' } },
    { from: { path: '^packages/(protocol|storage|channels|platform|queue|bus)/' }, to: { path: core } },
    { from: { path: '^packages/(queue|bus|client)/' }, to: { path: protocol } },
    { from: { path: '^services/(ingress|session-worker)/' }, to: { path: '^packages/' } },
    { from: { path: '^services/coordinator/' }, to: { path: '^packages/', pathNot: '^packages/channels/' } },
    { from: { path: '^services/dashboard/' }, to: { path: '^packages/(client|protocol)/' } },
    { from: { path: '^services/cli/' }, to: { path: '^packages/(protocol|platform|core)/' } },
    // a file is judged before it is sent, by what judges it on the other side
    { from: { path: '^services/cli/src/apply/' }, to: { path: '^packages/channels/' } },
    { from: { path: commandsWithDatabase }, to: { path: '^packages/storage/' } },
    { from: { path: '^test/' }, to: { path: '^(packages|services|test)/' } },
    { from: { path: '^[^/]+[.]config[.]ts$' }, to: {} },
  ],
  options: {
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
      extensions: ['.ts', '.tsx', '.d.ts', '.mts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
