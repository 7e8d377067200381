export { clusterPorts, egressOptions } from './config.ts';
export {
  createEgress,
  type Egress,
  type FetchLimits,
} from './egress.ts';
export { EgressError } from './error.ts';
