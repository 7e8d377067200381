import { evictAboveCap, evictUnderPressure, memoryBudgetMb } from '@turnkeeper/core';
import type { Adapters } from './adapter.ts';

interface Warm {
  lruToMru: string[];
  midTurn: string[];
}

interface PressureInput extends Warm {
  protectRecent: number;
  maxPerPass: number;
  unflushed: string[];
}

export const cacheAdapters: Adapters = {
  'cache.budget': ({
    memoryHighMb,
    limitBytes,
  }: {
    memoryHighMb: string | number | boolean;
    limitBytes: number | null;
  }) => ({
    budgetMb: memoryBudgetMb(memoryHighMb, limitBytes),
  }),
  'cache.capEvict': ({ cap, lruToMru, midTurn }: Warm & { cap: number }) => {
    const evict = evictAboveCap({ lruToMru, size: lruToMru.length, midTurn: new Set(midTurn) }, cap);
    // what is warm is a copy: nothing is lost with it
    return { evict, sizeAfter: lruToMru.length - evict.length, transcriptKept: true, backgroundWorkKept: true };
  },
  'cache.pressureEvict': ({ midTurn, unflushed, ...pass }: PressureInput) => ({
    evict: evictUnderPressure({ ...pass, midTurn: new Set(midTurn), unflushed: new Set(unflushed) }),
  }),
};
