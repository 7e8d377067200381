export {
  Database,
  type DatabaseOptions,
  openDatabase,
  type PoolStats,
  type Role,
  type Statement,
  type Transaction,
} from './database.ts';
export { checkRoles, checkSchema, type MigrateOptions, type MigrateResult, migrate, SCHEMA_RANGE } from './migrate.ts';
export { toStoreError } from './store-error.ts';
