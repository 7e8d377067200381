import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createCrashPoints } from './crash-points.ts';

describe('createCrashPoints', { timeout: 60_000 }, () => {
  it('does nothing when off, or at other places', () => {
    createCrashPoints(undefined).hit('commit.before');
    createCrashPoints('commit.before:kill').hit('commit.after');
  });

  it('acts on the nth hit, once', () => {
    const points = createCrashPoints('commit.before:delay=30:2');
    const took = [1, 2, 3].map(() => {
      const startMs = performance.now();
      points.hit('commit.before');
      return performance.now() - startMs >= 29;
    });
    expect(took).toEqual([false, true, false]);
  });

  it('kills the process at the place, before the next line runs', () => {
    const module = fileURLToPath(new URL('./crash-points.ts', import.meta.url));
    const code = `import { createCrashPoints } from ${JSON.stringify(module)};
      createCrashPoints('turn.before-model:kill').hit('turn.before-model'); process.stdout.write('went on');`;
    const done = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(done).toMatchObject({ signal: 'SIGKILL', stdout: '' });
  });

  it.each(['commit.before', 'commit.before:explode', 'a:kill:0', ':kill'])('refuses %s', (text) => {
    expect(() => createCrashPoints(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});
