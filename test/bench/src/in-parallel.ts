/** Calls `one` with 0 … count − 1, in this order, `atOnce` of them under way at a time. @throws what a call throws first */
export async function inParallel(count: number, atOnce: number, one: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const loop = async () => {
    for (let i = next++; i < count; i = next++) await one(i);
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
}
