export {
  Database,
  type DatabaseOptions,
  openDatabase,
  type PoolStats,
  type Role,
  type Statement,
  type Transaction,
} from './database.ts';
export { type Configs, type ConfigsOptions, openConfigs } from './lookup/configs.ts';
export { checkRoles, checkSchema, type MigrateOptions, type MigrateResult, migrate, SCHEMA_RANGE } from './migrate.ts';
export { Sealing } from './seal/sealing.ts';
export { serverKeyWrap } from './seal/server-key.ts';
export { toStoreError } from './store-error.ts';
