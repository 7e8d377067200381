import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take a minute and more. Begun last, one of them runs alone while the other core has nothing left to do. */
const LONG = ['chaos.test.ts', 'cli.test.ts', 'up.test.ts', 'coordinator-failover.test.ts', 'readme.test.ts'];

/** Vitest knows how long files took only where it has run before; a fresh clone has not. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.findIndex((name) => moduleId.endsWith(`/${name}`));
      return at < 0 ? LONG.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
