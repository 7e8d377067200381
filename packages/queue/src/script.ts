import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Redis, ReplyError } from 'ioredis';

/** A Lua script of `scripts/`: sent as text once per Redis, afterwards by its digest. */
export class Script {
  readonly #lua: string;
  readonly #sha1: string;

  /** @param name file name without `.lua` */
  constructor(name: string) {
    this.#lua = readFileSync(new URL(`../scripts/${name}.lua`, import.meta.url), 'utf8');
    this.#sha1 = createHash('sha1').update(this.#lua).digest('hex');
  }

  /** Runs it; all keys must have the same hash tag. @throws what Redis refuses */
  async run(client: Redis, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await client.evalsha(this.#sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      // most likely this Redis does not know the digest yet; if it refuses for another reason, it does so again
      return await client.eval(this.#lua, keys.length, ...keys, ...args);
    }
  }
}
