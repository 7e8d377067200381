/** What a model reported of one request. Null: it did not say. */
export interface TokenCounts {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
}

/**
 * How much a model was given: what it says itself of the whole prompt, else its parts together. Null: it said nothing. What
 * it wrote never counts.
 */
export function contextTokens(
  { input, cacheRead, cacheWrite }: TokenCounts,
  promptTokens: number | null,
): number | null {
  if (promptTokens !== null) return promptTokens;
  if (input === null && cacheRead === null && cacheWrite === null) return null;
  return (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0);
}

type Known = { readonly [Kind in keyof TokenCounts]: number };

/** What a request cost, in the currency of the prices; null for a model without prices. */
export function tokenCost(usage: Known, pricePerMillion: Known | null): number | null {
  if (pricePerMillion === null) return null;
  const kinds = ['input', 'output', 'cacheRead', 'cacheWrite'] as const;
  return kinds.reduce((sum, kind) => sum + usage[kind] * pricePerMillion[kind], 0) / 1_000_000;
}
