import type pg from 'pg';

const ROLES = ['tk_owner', 'tk_lookup', 'tk_api', 'tk_engine', 'tk_admin', 'tk_sweep'];
/** Roles belong to the whole server, so migrators of two databases may make them at once: one of them is told so. */
const RACE_STATES = new Set(['23505', '42710', 'XX000']);
const TRIES_MAX = 10;

/**
 * Makes the roles that are missing, and the login a member of them all: it may take them, not act with the rights of
 * all of them at once. The owner may hand functions over to tk_sweep.
 */
export async function ensureRoles(client: pg.Client): Promise<void> {
  for (const role of ROLES)
    await ensure(client, { exists: ROLE_EXISTS, values: [role], make: `create role ${role} nologin noinherit` });
  const { rows } = await client.query<{ login: string; version: number }>(
    "select quote_ident(session_user) as login, current_setting('server_version_num')::int as version",
  );
  for (const { login, version } of rows) {
    const how = version >= 160_000 ? ' with inherit false, set true' : '';
    for (const role of ROLES) {
      await ensure(client, { exists: MEMBER_EXISTS, values: [role, login], make: `grant ${role} to ${login}${how}` });
    }
    await ensure(client, {
      exists: MEMBER_EXISTS,
      values: ['tk_sweep', 'tk_owner'],
      make: `grant tk_sweep to tk_owner${how}`,
    });
  }
}

const ROLE_EXISTS = 'select 1 from pg_roles where rolname = $1';
/** A creator of roles is their member for administration only, which does not let it take them: those rows do not count. */
const MEMBER_EXISTS = `select 1 from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles g on g.oid = m.member
  where r.rolname = $1 and quote_ident(g.rolname) = $2 and coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)`;

interface Wanted {
  readonly exists: string;
  readonly values: readonly string[];
  readonly make: string;
}

async function ensure(client: pg.Client, wanted: Wanted): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { rowCount } = await client.query(wanted.exists, [...wanted.values]);
    if (rowCount !== 0) return;
    try {
      await client.query(wanted.make);
      return;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (!RACE_STATES.has(code) || tries === TRIES_MAX) throw error;
    }
  }
}
