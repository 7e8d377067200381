/**
 * Gate: what Biome cannot say about a file. Names that promise nothing, SQL and Lua over the line budget, catch blocks
 * that only hold a comment, and clocks or dice inside core. (Lines of functions and TypeScript files: biome.json.)
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';
import { trackedFiles } from './tracked-files.ts';

const LINES_MAX = 400;
const VAGUE_NAME = /(^|[-.])(utils?|helpers?|common|lib|managers?|misc)([-.]|$)/;

const faults = trackedFiles(['packages', 'services', 'test', 'scripts']).flatMap((path) => [
  ...nameFaults(path),
  ...lengthFaults(path),
  ...(/\.(ts|mjs|cjs)$/.test(path) ? codeFaults(path) : []),
]);
for (const fault of faults) process.stdout.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;

function nameFaults(path: string): string[] {
  const vague = path.split('/').find((part) => VAGUE_NAME.test(part));
  return vague === undefined ? [] : [`${path}: "${vague}" does not say what it is for`];
}

function lengthFaults(path: string): string[] {
  if (!/\.(sql|lua)$/.test(path)) return [];
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').length;
  return lines > LINES_MAX ? [`${path}: ${lines} lines, at most ${LINES_MAX}`] : [];
}

function codeFaults(path: string): string[] {
  const file = ts.createSourceFile(basename(path), readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const isPure = path.startsWith('packages/core/') && !path.endsWith('.test.ts');
  const faults: string[] = [];
  const visit = (node: ts.Node): void => {
    const fault = emptyCatch(node) ?? (isPure ? ambientSource(node) : undefined);
    if (fault !== undefined) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      faults.push(`${path}:${line + 1}: ${fault}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return faults;
}

function emptyCatch(node: ts.Node): string | undefined {
  return ts.isCatchClause(node) && node.block.statements.length === 0
    ? 'empty catch: translate with cause, retry with a budget, or log'
    : undefined;
}

function ambientSource(node: ts.Node): string | undefined {
  if (ts.isNewExpression(node) && node.expression.getText() === 'Date' && (node.arguments?.length ?? 0) === 0) {
    return 'new Date() in core: time comes in through the Clock port';
  }
  if (ts.isCallExpression(node) && /^(Date\.now|Math\.random)$/.test(node.expression.getText())) {
    return `${node.expression.getText()}() in core: time and chance come in through Clock and Ids`;
  }
  return undefined;
}
