import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface UpProcess {
  readonly name: string;
  readonly pid: number;
  readonly bootId?: string;
  /** Address of its internal port. */
  readonly internal?: string;
}

/** How programs find a running cluster: `<data>/up.json`, and the last line of `up --json`. */
export interface UpReport {
  readonly ingress: readonly string[];
  /** Of each ingress. */
  readonly internal: readonly string[];
  /** The chat page, as a guest of the demo tenant sees it; not there when it could not be built. */
  readonly chat?: string;
  /** Preset `owner`. */
  readonly apiKey: string;
  readonly operatorKey: string;
  readonly tenant: 'demo';
  readonly hook: { readonly url: string; readonly secret: string };
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly natsUrl: string;
  readonly processes: readonly UpProcess[];
}

/** The file is whole or not there: readers may look at any moment. It holds keys, so it is its owner's. */
export class UpFile {
  readonly path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(dataDir: string) {
    this.path = join(dataDir, 'up.json');
  }

  /** Writes follow each other in the order of the calls. */
  write(report: UpReport): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      await writeFile(`${this.path}.new`, `${JSON.stringify(report)}\n`, { mode: 0o600 });
      await rename(`${this.path}.new`, this.path);
    });
    return this.#writing;
  }

  async remove(): Promise<void> {
    await this.#writing;
    await rm(this.path, { force: true });
  }
}
