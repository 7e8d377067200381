export { type FreshDatabase, freshDatabase } from './fresh-database.ts';
export { openStage, type Stage, type StageLane } from './stage.ts';
