import type { CallOptions, QueryValue, Transport } from './transport.ts';

/** A part of a list. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

/** A list of the API: `for await (const item of list)` goes through all of it, page by page. */
export class Listing<Item> implements AsyncIterable<Item> {
  readonly #read: (cursor: string | undefined) => Promise<Page<Item>>;
  readonly #isReversed: boolean;

  /** `isReversed`: pages go back in time, and each is oldest first. Items then come newest first. */
  constructor(read: (cursor: string | undefined) => Promise<Page<Item>>, isReversed = false) {
    this.#read = read;
    this.#isReversed = isReversed;
  }

  /** One page, as the server gives it: the first, or the one at a `nextCursor`. */
  page(cursor?: string): Promise<Page<Item>> {
    return this.#read(cursor);
  }

  /** All pages, one after the other. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const page: Page<Item> = await this.#read(cursor ?? undefined);
      yield page;
      cursor = page.hasMore ? page.nextCursor : null;
    } while (cursor !== null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* this.#isReversed ? [...data].reverse() : data;
  }
}

/** The list at a path. */
export function listing<Item>(
  transport: Transport,
  { path, query, isReversed = false }: { path: string; query?: Query | undefined; isReversed?: boolean },
  options: CallOptions | undefined,
): Listing<Item> {
  return new Listing(
    (cursor) =>
      transport.json({ method: 'GET', path, query: { ...query, cursor: cursor ?? query?.['cursor'] } }, options),
    isReversed,
  );
}

type Query = Readonly<Record<string, QueryValue>>;
