import { contextTokens, tokenCost } from '@turnkeeper/core';
import type { Adapters } from './adapter.ts';

type Usage = Parameters<typeof contextTokens>[0];
type Known = Parameters<typeof tokenCost>[0];

export const usageAdapters: Adapters = {
  'usage.cost': ({ usage, pricePerMillion }: { usage: Known; pricePerMillion: Known | null }) => ({
    cost: tokenCost(usage, pricePerMillion),
  }),
  'usage.total': ({ usage, promptTokens }: { usage: Usage; promptTokens: number | null }) => {
    const totalTokens = contextTokens(usage, promptTokens);
    return { totalTokens, fresh: totalTokens !== null };
  },
};
