import { type IdPrefix, parseId } from './ids.ts';

/** What tenants, agents, accounts and keys may be called (surface §1). */
export const NAME_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** How a caller names a thing. */
export type Reference<Id extends string> =
  | { readonly by: 'id'; readonly value: Id }
  | { readonly by: 'name'; readonly value: string };

/** Reads a public id or a name; null for a text that is neither, so that no store is asked for it. */
export function parseReference<Id extends string>(text: string, prefix: IdPrefix): Reference<Id> | null {
  const id = parseId<Id>(text, prefix);
  if (id !== null) return { by: 'id', value: id };
  return NAME_PATTERN.test(text) ? { by: 'name', value: text } : null;
}
