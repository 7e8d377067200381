import type { Kit } from './kit.ts';

/** Ports a service listens on, once it does. */
export interface Listening {
  readonly publicPort?: number;
  readonly internalPort: number;
}

/** What `compose` returns: built, not yet running. Disposing is safe at any point of its life. */
export interface Service extends AsyncDisposable {
  /** Resolves when it serves. The signal aborts a start that is no longer wanted. */
  start(signal: AbortSignal): Promise<Listening>;
  /**
   * Takes no new work and finishes or hands back what runs; resolves when nothing is left. The signal aborts when
   * `drainTimeoutMs` is over or a second SIGTERM came: hand back then, a few seconds are left.
   */
  drain(signal: AbortSignal): Promise<void>;
}

/** Builds a service's parts. `replace` lets the test harness put own parts in. */
export type Compose<Config, Replace = never> = (
  config: Config,
  kit: Kit,
  replace?: Replace,
) => Service | Promise<Service>;

/** What a started process tells its parent over the IPC channel, where there is one. */
export type ProcessMessage =
  | ({ readonly type: 'ready'; readonly bootId: string } & Listening)
  /** `code`: of the error, also a system's (`EADDRINUSE`); empty when it had none. */
  | { readonly type: 'fatal'; readonly code: string; readonly message: string };
