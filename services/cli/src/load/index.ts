export { type LoadReport, runLoad } from './run-load.ts';
export { SIGNED_WEBHOOK } from './signed-webhook.ts';
