/**
 * Gate: holds .dependency-cruiser.cjs over every source file, and fails when it did not see all of them (with a
 * compiler that it does not know, dependency-cruiser sees no module and is content).
 */
import { cruise, format } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { trackedFiles } from './tracked-files.ts';

const roots = ['packages', 'services', 'test', 'scripts'];

const options = await extractDepcruiseOptions('./.dependency-cruiser.cjs');
const { output } = await cruise(roots, options, undefined, { tsConfig: extractTSConfig('./tsconfig.base.json') });
if (typeof output === 'string') throw new Error('dependency-cruiser did not return its result as an object');

const report = await format(output, { outputType: 'err' });
process.stdout.write(`${String(report.output).trim()}\n`);

const cruised = new Set(output.modules.map((module) => module.source));
const sources = trackedFiles(roots).filter((path) => /\.(tsx?|mjs)$/.test(path) && !path.endsWith('.d.ts'));
const missed = sources.filter((path) => !cruised.has(path));
for (const path of missed) process.stdout.write(`not cruised: ${path}\n`);
if (report.exitCode !== 0 || missed.length > 0 || sources.length === 0) process.exitCode = 1;
