import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';

const globalSetup = './test/harness/src/global-setup.ts';
const adapterTests = 'packages/*/src/**/*.{pg,redis,nats}.test.ts';

/**
 * `unit` needs nothing but Node. `adapters` and `integration` get Postgres, Redis and NATS from the global
 * set-up: URLs from the environment, else services of their own. Every file makes its own database and prefixes.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          // properties over random scripts, beside the other gates of a verify on two cores
          testTimeout: 60_000,
          include: ['packages/*/src/**/*.test.ts', 'services/*/src/**/*.test.ts', 'scripts/*.test.ts'],
          exclude: [adapterTests],
        },
      },
      {
        test: {
          name: 'adapters',
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          include: [adapterTests],
          globalSetup,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          // they mostly wait: for leases to run out, for services to be away
          maxWorkers: 2,
          maxConcurrency: 2,
          sequence: { groupOrder: 1 },
          include: ['test/{harness,integration,conformance,chaos,browser}/src/**/*.test.ts'],
          globalSetup,
          testTimeout: 60_000,
          hookTimeout: 90_000,
        },
      },
      {
        test: {
          name: 'selftest',
          include: ['scripts/selftest/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
          testTimeout: 180_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'model',
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          include: ['test/{model,simulation}/src/**/*.test.ts'],
          testTimeout: 300_000,
          maxConcurrency: 2,
        },
      },
    ],
  },
});
