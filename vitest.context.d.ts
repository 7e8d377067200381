import 'vitest';

declare module 'vitest' {
  /** What the global set-up hands to tests: `inject('urls')` says where the services of this run listen. */
  export interface ProvidedContext {
    urls: { readonly postgres: string; readonly redis: string; readonly nats: string };
  }
}
