import {
  type AgentRuntime,
  type ClaimedTurn,
  type Clock,
  type Fence,
  type LaneStore,
  type RunAgentOptions,
  type RunningAgentTurn,
  type Span,
  type Traceparent,
  type Tracer,
  type TurnEnd,
  traced,
} from '@turnkeeper/core';

/**
 * One trace per turn: it hangs under the oldest event's stored context and links to those of the others, so that a
 * caller's trace goes on through the queue. Batches serve many turns and are spans of their own that link to them.
 */
export class TurnTraces {
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #turns = new WeakMap<ClaimedTurn, Traceparent>();
  /** By the pair that claim gave out: a commit carries that very object. */
  readonly #byFence = new WeakMap<Fence, Traceparent>();

  constructor(tracer: Tracer, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  /** The agent's part of a turn, and the wait before it. */
  answer(turn: RunningAgentTurn, work: () => Promise<TurnEnd>): Promise<TurnEnd> {
    const { claimed } = turn;
    const span = this.#startTurn(claimed);
    if (span.traceparent !== null) {
      // nobody asks for a trace: nothing for the collector of garbage to look through
      this.#turns.set(claimed, span.traceparent);
      this.#byFence.set(claimed.fence, span.traceparent);
    }
    return span.isRecorded ? this.#untilEnded(span, work) : work();
  }

  async #untilEnded(span: Span, work: () => Promise<TurnEnd>): Promise<TurnEnd> {
    const end = await work();
    span.end(end.how === 'replied' ? undefined : end.how === 'failed' ? end.code : end.how);
    return end;
  }

  runtimes(runtimes: RunAgentOptions['runtimes']): RunAgentOptions['runtimes'] {
    return { echo: this.#runtime(runtimes.echo), openai: this.#runtime(runtimes.openai) };
  }

  store(store: LaneStore): Pick<LaneStore, 'claim' | 'commit' | 'handBack' | 'look'> {
    return {
      claim: async (bootId, items, options) => {
        const startedAtMs = this.#clock.nowMs();
        const results = await store.claim(bootId, items, options);
        const links = results.flatMap((one) => (one.result === 'claimed' ? [one.events[0]?.traceparent] : []));
        this.#tracer.start('claim.batch', { links, startedAtMs, attributes: { size: items.length } }).end();
        return results;
      },
      commit: (bootId, items) => {
        const links = items.map(({ fence }) => this.#byFence.get(fence));
        const span = this.#tracer.start('commit.batch', { links, attributes: { size: items.length } });
        return traced(span, () => store.commit(bootId, items));
      },
      handBack: (bootId, items) => store.handBack(bootId, items),
      look: (lanes) => store.look(lanes),
    };
  }

  #startTurn(claimed: ClaimedTurn): Span {
    const { lane, fence, events, reason, startedAt } = claimed;
    const [oldest, ...others] = events;
    const attributes = { laneId: lane.laneId, turnId: fence.turnId, reason, events: events.length };
    const parent = oldest?.traceparent ?? null;
    if (oldest !== undefined) {
      const wait = { parent, attributes, startedAtMs: oldest.acceptedAt.getTime() };
      this.#tracer.start('lane.wait', wait).end();
    }
    const links = others.map(({ traceparent }) => traceparent);
    return this.#tracer.start('turn', { parent, links, attributes, startedAtMs: startedAt.getTime() });
  }

  #runtime(runtime: AgentRuntime): AgentRuntime {
    return {
      run: (call) => {
        const parent = this.#turns.get(call.turn) ?? null;
        const agent = this.#tracer.start(`invoke_agent ${call.config.name}`, {
          ...{ parent, attributes: { 'gen_ai.operation.name': 'invoke_agent', try: call.tryNumber } },
        });
        return traced(agent, () => this.#model(call, agent.traceparent, () => runtime.run(call)));
      },
    };
  }

  #model<T>(
    { config }: Parameters<AgentRuntime['run']>[0],
    parent: Traceparent | null,
    work: () => Promise<T>,
  ): Promise<T> {
    if (config.runtime.kind !== 'openai') return work();
    const { model } = config.runtime;
    const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model };
    return traced(this.#tracer.start(`chat ${model}`, { parent, attributes }), work);
  }
}
