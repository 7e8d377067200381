import { type AccountConfig, AppError } from '@turnkeeper/core';

interface Asking {
  readonly headers: { readonly origin?: string | undefined; readonly host?: string | undefined };
}

/**
 * Browsers say which page asks. Pages of this server's own host may, and those that the account names in `origins`
 * (`*` = every page). Who says no origin is no browser.
 * @throws AppError `origin_not_allowed`
 */
export function checkOrigin({ headers: { origin, host } }: Asking, account: AccountConfig | null): void {
  if (
    origin === undefined ||
    isOwn(origin, host) ||
    namedBy(account).some((named) => named === '*' || named === origin)
  )
    return;
  throw new AppError({
    code: 'origin_not_allowed',
    message: 'this page may not use the web chat: its origin is not in the options of the web chat account',
  });
}

function isOwn(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && new URL(origin).host === host;
}

function namedBy(account: AccountConfig | null): readonly unknown[] {
  const { origins } = account?.options ?? {};
  return Array.isArray(origins) ? origins : [];
}
