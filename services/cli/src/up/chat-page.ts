import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sentenceOf } from '../exit.ts';

const BUILD = fileURLToPath(new URL('../../../dashboard/build.ts', import.meta.url));
const BUILD_MS_MAX = 180_000;

/** Builds the chat page if its sources have changed since, and gives its folder; null when it cannot be built. */
export async function buildChatPage(inform: (text: string) => void): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [BUILD], { timeout: BUILD_MS_MAX });
    return stdout.trim().split('\n').at(-1) ?? null;
  } catch (err) {
    // a cluster without its page is better than none
    inform(`the chat page cannot be built: ${sentenceOf(err)}`);
    return null;
  }
}
