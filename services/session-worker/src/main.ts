import { runProcess } from '@turnkeeper/platform/process';
import { compose } from './compose.ts';
import { sessionWorkerTable } from './config.ts';

await runProcess({ name: 'session-worker', schema: sessionWorkerTable, compose });
