export { type FreshDatabase, freshDatabase } from './fresh-database.ts';
export {
  claimOf,
  commitOf,
  decided,
  freshId,
  message,
  openStage,
  type Policy,
  type Stage,
  type StageLane,
} from './stage.ts';
