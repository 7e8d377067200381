/** W3C trace context, version 00. */
export type Traceparent = string;

export interface SpanOptions {
  /** The span that this one belongs to; without it a trace begins. */
  readonly parent?: Traceparent | null;
  /** Other traces that this work served: the further events of a turn, the items of a batch. */
  readonly links?: readonly (Traceparent | null | undefined)[];
  /** Ids and counts only: never text, names or secrets. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** When the work began, if that was earlier than now: milliseconds since 1970. */
  readonly startedAtMs?: number;
}

export interface Span {
  /** To be handed to whatever the work causes; the parent's when nothing is recorded. */
  readonly traceparent: Traceparent | null;
  /** False: nobody will see it, and it need not be ended. */
  readonly isRecorded: boolean;
  /** `code`: the stable code of what went wrong; absent = it went well. Once. */
  end(code?: string): void;
}

/** Tells what was done when, to whoever collects traces. Costs next to nothing when nobody does. */
export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
}

/** Records nothing and hands contexts on. */
export const noTracer: Tracer = {
  start: (_name, { parent } = {}) => ({ traceparent: parent ?? null, isRecorded: false, end: () => undefined }),
};

/** Runs the work inside a span, which ends with the code of what it throws. */
export function traced<T>(span: Span, work: () => Promise<T>): Promise<T> {
  return span.isRecorded ? recorded(span, work) : work();
}

async function recorded<T>(span: Span, work: () => Promise<T>): Promise<T> {
  let failure: string | undefined;
  try {
    return await work();
  } catch (error) {
    failure = codeOf(error);
    throw error;
  } finally {
    span.end(failure);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'internal';
}
