/** Who is behind what stands in a transcript as said by a user: a person, another session, or the system itself. */
type Provenance = 'external_user' | 'inter_session' | 'internal_system';

const KINDS: readonly Provenance[] = ['external_user', 'inter_session', 'internal_system'];

/** What a row is marked with: only rows of users are, and what stands there is never overwritten. Null: no mark. */
export function provenanceOf(row: {
  readonly role: 'assistant' | 'tool' | 'user';
  readonly existing: string | null;
  readonly incoming: string;
}): Provenance | null {
  if (row.role !== 'user') return null;
  return kindOf(row.existing) ?? kindOf(row.incoming);
}

function kindOf(text: string | null): Provenance | null {
  return KINDS.find((kind) => kind === text) ?? null;
}
