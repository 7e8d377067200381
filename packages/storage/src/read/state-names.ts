/** The name of a state number, as the rows keep them; null for a number that this code does not know. */
export function nameOf<Name extends string>(numbers: Readonly<Record<Name, number>>, number: number): Name | null {
  for (const name in numbers) if (numbers[name] === number) return name;
  return null;
}
