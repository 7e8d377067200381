import { type Listing, listing } from '../listing.ts';
import type { AnswerOf, BodyOf, QueryOf } from '../operations.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type Agent = AnswerOf<'getAgent'>;
export type NewAgent = BodyOf<'createAgent'>;
export type AgentChanges = BodyOf<'updateAgent'>;
export type Account = AnswerOf<'getAccount'>;
export type NewAccount = BodyOf<'createAccount'>;
export type AccountChanges = BodyOf<'updateAccount'>;
export type Key = AnswerOf<'getKey'>;
export type NewKey = BodyOf<'createKey'>;
/** With the token: it is shown this once. */
export type CreatedKey = AnswerOf<'createKey'>;
export type KeyChanges = BodyOf<'updateKey'>;

export interface VersionOptions extends CallOptions {
  /** Nothing is changed when it has another version by now: ApiError `version_conflict`. */
  readonly ifVersion?: number | undefined;
}

/** `/v1/agents`, `/v1/accounts` and `/v1/keys`: what a tenant sets up for itself. Each is named by its id or its name. */
export class Configured<Item, New, Created, Changes> {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, path: string) {
    this.#transport = transport;
    this.#path = path;
  }

  list(query?: QueryOf<'listAgents'>, options?: CallOptions): Listing<Item> {
    return listing(this.#transport, { path: this.#path, query }, options);
  }

  get(name: string, options?: CallOptions): Promise<Item> {
    return this.#transport.json({ method: 'GET', path: this.#pathOf(name) }, options);
  }

  /** Never repeated: after a ConnectionError ask for it by its name. */
  create(given: New, options?: CallOptions): Promise<Created> {
    return this.#transport.json({ method: 'POST', path: this.#path, body: given }, options);
  }

  /** Changes what is given; null takes a setting away. */
  update(name: string, changes: Changes, { ifVersion, ...options }: VersionOptions = {}): Promise<Item> {
    const call = { method: 'PATCH', path: this.#pathOf(name), body: changes, headers: headersOf(ifVersion) } as const;
    return this.#transport.json(call, options);
  }

  delete(name: string, { ifVersion, ...options }: VersionOptions = {}): Promise<void> {
    const call = { method: 'DELETE', path: this.#pathOf(name), headers: headersOf(ifVersion) } as const;
    return this.#transport.json(call, options);
  }

  #pathOf(name: string): string {
    return `${this.#path}/${encodeURIComponent(name)}`;
  }
}

function headersOf(version: number | undefined): Record<string, string> {
  return version === undefined ? {} : { 'if-match': `"${version}"` };
}
