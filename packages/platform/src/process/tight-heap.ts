import v8 from 'node:v8';

const LARGE_BYTES = 160 * 1024 * 1024;
const GROWTH_PERCENT = 15;

/**
 * Keeps a large heap close to what lives in it; to be called every few seconds. The engine lets the heap of a process that
 * holds much grow by half or more between two collections of the old generation, which is right for one that computes,
 * and much memory for one that waits for thousands of agents. A small heap is left to the engine: there collections so
 * close to each other would cost more than the memory they save.
 */
export function createHeapKeeper(
  usedBytes: () => number = () => v8.getHeapStatistics().used_heap_size,
  setFlag: (flag: string) => void = v8.setFlagsFromString,
): () => void {
  let isTight = false;
  return () => {
    const isLarge = usedBytes() > LARGE_BYTES;
    if (isLarge === isTight) return;
    isTight = isLarge;
    // 0: the engine decides by itself
    setFlag(`--heap-growing-percent=${isTight ? GROWTH_PERCENT : 0}`);
  };
}
