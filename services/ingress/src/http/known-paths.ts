import type { FastifyInstance } from 'fastify';

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/** The paths of an app, to tell a wrong method from a wrong path. Make it before the routes are. */
export class KnownPaths {
  readonly #paths = new Map<string, KnownPath>();

  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ url, method }) => {
      const known = this.#paths.get(url) ?? { pattern: patternOf(url), methods: new Set() };
      this.#paths.set(url, known);
      for (const name of [method].flat()) known.methods.add(name);
    });
  }

  /** What this path takes, in the order of the routes; empty for an unknown path. */
  methodsAt(url: string): readonly string[] {
    const [path = ''] = url.split('?');
    const found = [...this.#paths.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(found.flatMap(({ methods }) => [...methods]))];
  }
}

/** `/v1/runs/:id` → one part of the path for each parameter. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll(/[^\w-]/g, '\\$&')));
  return new RegExp(`^${parts.join('/')}$`);
}
