export { type Arrival, judge, type Sent, type Verdict } from './judge.ts';
export { type LoadOptions, type LoadProgress, type LoadReport, type Percentiles, runLoad } from './run-load.ts';
