export { type FreshDatabase, freshDatabase } from './fresh-database.ts';
export { claimOf, commitOf, message, openStage, type Stage, type StageLane } from './stage.ts';
