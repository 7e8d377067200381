export { documentConfig } from './document.ts';
export { describeConfig, type Environment, environment, loadConfig } from './load.ts';
export {
  type ConfigOf,
  type ConfigOption,
  type ConfigTable,
  choice,
  defineConfig,
  integer,
  list,
  optionalSecret,
  optionalText,
  optionalUrl,
  secret,
  text,
  url,
} from './option.ts';
export { storeOptions } from './stores.ts';
