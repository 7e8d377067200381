export { type Balancer, startBalancer } from './cluster/balancer.ts';
export { type NodeKind, type NodeProcess, startNode } from './cluster/node-process.ts';
export {
  type ApiAnswer,
  type ApiInit,
  type Cluster,
  type ClusterOptions,
  startCluster,
} from './cluster/start-cluster.ts';
export { type FakeServer, startFakeServer } from './fakes/http-server.ts';
export { type CompletionStep, type FakeOpenAi, startFakeOpenAi } from './fakes/openai.ts';
export { type FakePlatform, type PlatformStep, type RecordedSend, startFakePlatform } from './fakes/platform.ts';
export { until } from './until.ts';
