import ts from 'typescript';

/** A manifest as it was rendered, not yet known to be one. */
export interface Rendered {
  readonly from: string;
  readonly document: unknown;
}

const FILE = `${process.cwd()}/scripts/deploy/rendered-manifests.ts`;
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
  // nothing of the language's own library is in a manifest, and reading less of it halves the time
  lib: ['lib.es5.d.ts'],
};

/**
 * What the types of the Kubernetes API say against these manifests: fields that do not exist, that are missing, of the
 * wrong type or kind. Each is written into a program that exists only here, as a literal of its type: of literals, the
 * compiler refuses what their type does not name.
 */
export function typeFaults(manifests: readonly Rendered[]): string[] {
  const parts = manifests.map(({ document }, i) => literal(document, i));
  const starts = parts.map((_, i) => parts.slice(0, i).join('').length);
  const text = parts.join('');
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => path === FILE || fileExists(path);
  host.getSourceFile = (path, ...rest) =>
    path === FILE
      ? ts.createSourceFile(FILE, text, OPTIONS.target ?? ts.ScriptTarget.ES2022)
      : getSourceFile(path, ...rest);
  const program = ts.createProgram([FILE], OPTIONS, host);
  return program.getSemanticDiagnostics(program.getSourceFile(FILE)).map(({ messageText, start = 0 }) => {
    const i = starts.findLastIndex((at) => at <= start);
    const line = text.slice(start, text.indexOf('\n', start)).replace(/,$/, '');
    const words = ts.flattenDiagnosticMessageText(messageText, ' ');
    return `${manifests[i]?.from}: ${titleOf(manifests[i]?.document)}: ${line}: ${words}`;
  });
}

function literal(document: unknown, i: number): string {
  const { apiVersion, kind } = headOf(document);
  return [
    `import type { I${kind} as Type${i} } from 'kubernetes-models/${apiVersion}/${kind}';`,
    `export const manifest${i}: Type${i} = ${JSON.stringify(document, null, 1)};`,
    '',
  ].join('\n');
}

function titleOf(document: unknown): string {
  const { kind, name } = headOf(document);
  return `${kind}/${name}`;
}

function headOf(document: unknown): { apiVersion: string; kind: string; name: string } {
  const text = (of: unknown, key: string) => {
    const value = typeof of === 'object' && of !== null ? Reflect.get(of, key) : undefined;
    return typeof value === 'string' && /^[\w./-]+$/.test(value) ? value : 'missing';
  };
  const metadata = typeof document === 'object' && document !== null ? Reflect.get(document, 'metadata') : undefined;
  return { apiVersion: text(document, 'apiVersion'), kind: text(document, 'kind'), name: text(metadata, 'name') };
}
