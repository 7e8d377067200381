import type pg from 'pg';

/** What was in force while it was measured, read back over a connection of the measured role. */
export interface Settings {
  readonly postgres: string;
  readonly fsync: string;
  readonly synchronousCommit: string;
  readonly fullPageWrites: string;
  readonly node: string;
  readonly cores: number;
}

/** @throws Error when a setting would make the figures worthless: what is acknowledged must be on disk */
export async function readSettings(client: pg.Client, cores: number): Promise<Settings> {
  const show = async (name: string) => {
    const { rows } = await client.query<Record<string, string>>(`show ${name}`);
    return Object.values(rows[0] ?? {})[0] ?? '';
  };
  const settings = {
    postgres: await show('server_version'),
    fsync: await show('fsync'),
    synchronousCommit: await show('synchronous_commit'),
    fullPageWrites: await show('full_page_writes'),
    node: process.version,
    cores,
  };
  if (settings.fsync !== 'on' || settings.synchronousCommit !== 'on') {
    throw new Error(`fsync is ${settings.fsync}, synchronous_commit is ${settings.synchronousCommit}: both must be on`);
  }
  return settings;
}
