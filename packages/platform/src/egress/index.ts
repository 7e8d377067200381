export { egressOptions } from './config.ts';
export {
  createEgress,
  type Egress,
  type FetchLimits,
  type SendAnswer,
  type SendRequest,
} from './egress.ts';
export { EgressError, type EgressFailure } from './error.ts';
