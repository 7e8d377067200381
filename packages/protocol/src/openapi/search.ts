import { SearchListSchema, SearchQuerySchema } from '../http/search.ts';
import type { Operation } from './operation.ts';

export const SEARCH: Operation = {
  method: 'get',
  path: '/v1/search',
  id: 'search',
  summary: 'Messages that hold all words and phrases of q, newest first',
  door: 'search:read',
  query: SearchQuerySchema,
  answers: { 200: SearchListSchema },
  errors: ['agent_not_found', 'session_not_found', 'ambiguous', 'multiple_selectors', 'invalid_field', 'missing_field'],
};
