import { print } from '../output.ts';
import { makeDataFolder } from './data-folder.ts';
import { lockData } from './data-lock.ts';
import { type ClusterOptions, LocalCluster } from './local-cluster.ts';
import { createProgress, type Progress } from './progress.ts';
import { type StopSignals, watchStopSignals } from './stop-signals.ts';
import { summarize } from './summary.ts';

/** Runs a cluster on this machine until somebody asks it to stop. @throws CliError, AppError when it cannot start */
export async function runUp(options: ClusterOptions & { readonly json: boolean }): Promise<void> {
  const stop = watchStopSignals();
  await makeDataFolder(options.dataDir);
  const unlock = await lockData(options.dataDir);
  try {
    await runLocked(options, stop);
  } finally {
    await unlock();
    stop.unwatch();
  }
}

async function runLocked(options: ClusterOptions & { readonly json: boolean }, stop: StopSignals): Promise<void> {
  const progress = createProgress();
  const cluster = new LocalCluster(options, progress);
  stop.onImpatience((times) => (times === 2 ? cluster.hasten() : cluster.kill()));
  try {
    const agents = await cluster.start(stop.signal);
    const report = cluster.report();
    const { dataDir, port } = options;
    print(
      options.json ? JSON.stringify(report) : summarize({ report, agents, dataDir, portGiven: port !== undefined }),
    );
    await stop.asked;
    progress.note('stopping: turns in flight may finish; Ctrl-C again hurries');
  } catch (err) {
    // a start that was called off is no failure
    if (stop.signal.aborted) return await stopAsked(cluster, options.dataDir, progress);
    await cluster.stop();
    throw err;
  }
  await stopAsked(cluster, options.dataDir, progress);
}

function stopAsked(cluster: LocalCluster, dataDir: string, progress: Progress): Promise<void> {
  return progress.step(
    'stopped',
    () => cluster.stop(),
    () => `nothing runs any more; data and keys stay in ${dataDir}`,
  );
}
