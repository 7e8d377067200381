export { type LoadReport, runLoad } from './run-load.ts';
