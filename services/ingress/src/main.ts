import { runProcess } from '@turnkeeper/platform/process';
import { compose } from './compose.ts';
import { ingressTable } from './config.ts';

await runProcess({ name: 'ingress', schema: ingressTable, compose });
