import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../../../test/conformance/vectors');

/** The cases of an op whose rule is SQL, for `it.each`: the id and the case. The caller states the types, as adapters do. */
export function vectorsOf<Input, Expected>(
  file: string,
  op: string,
): (readonly [id: string, vector: { readonly input: Input; readonly expected: Expected }])[] {
  const vectors: { id: string; op: string; input: Input; expected: Expected }[] = JSON.parse(
    readFileSync(join(FOLDER, file), 'utf8'),
  );
  const cases = vectors.filter((vector) => vector.op === op);
  if (cases.length === 0) throw new Error(`${file} holds no case of ${op}`);
  return cases.map((vector) => [vector.id, vector]);
}
