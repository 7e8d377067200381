import { runProcess } from '@turnkeeper/platform/process';
import { compose } from './compose.ts';
import { coordinatorTable } from './config.ts';

await runProcess({ name: 'coordinator', schema: coordinatorTable, compose });
