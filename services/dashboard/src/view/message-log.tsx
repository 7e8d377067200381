import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ChatSession, ChatState } from '../chat/chat-session.ts';
import type { Files } from '../chat/files.ts';
import { LiveBubble, MessageBubble, OutgoingBubble } from './message-bubble.tsx';

const NEAR_PX = 80;

/** What was said. It stays at its end while one reads there, and stays where it is while one reads above. */
export function MessageLog({
  state,
  session,
  files,
}: {
  readonly state: ChatState;
  readonly session: ChatSession;
  readonly files: Files;
}) {
  const { entries, outgoing, liveText, isRunning, isLoaded } = state;
  const { log, isAtEnd, toEnd } = useEnd([entries.length, outgoing.length, liveText, isRunning, state.question]);
  const isEmpty = isLoaded && entries.length === 0 && outgoing.length === 0;
  return (
    <main className="middle">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reached with the keyboard */}
      <section className="log" ref={log} tabIndex={0} aria-label="Messages">
        {isEmpty && (
          <p className="empty">
            Nothing has been said yet. Write something to begin; /stop stops the assistant, /new begins afresh.
          </p>
        )}
        {/* what comes while the past is loaded is not read aloud */}
        <div role="log" aria-live={isLoaded ? 'polite' : 'off'} aria-relevant="additions" aria-label="Conversation">
          <ol>
            {entries.map((entry) => (
              <MessageBubble key={entry.id} entry={entry} files={files} />
            ))}
          </ol>
        </div>
        {(liveText !== '' || isRunning) && <LiveBubble text={liveText} />}
        <ol aria-label="Not delivered yet">
          {outgoing.map((message) => (
            <OutgoingBubble
              key={message.clientId}
              message={message}
              isOnline={state.link === 'online'}
              isAsked={state.question !== null}
              onRetry={() => session.retry(message)}
              onDiscard={() => session.discard(message.clientId)}
            />
          ))}
        </ol>
      </section>
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={toEnd}>
          Newest messages
        </button>
      )}
    </main>
  );
}

function useEnd(changes: readonly unknown[]) {
  const log = useRef<HTMLElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = useCallback(() => {
    log.current?.scrollTo({ top: log.current.scrollHeight });
    setAtEnd(true);
  }, []);
  useEffect(() => {
    const element = log.current;
    if (element === null) return;
    const look = () => setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX);
    element.addEventListener('scroll', look, { passive: true });
    return () => element.removeEventListener('scroll', look);
  }, []);
  useEffect(() => {
    const element = log.current;
    if (element === null || !isAtEnd) return;
    // pictures are loaded later than what was said
    const observer = new ResizeObserver(() => element.scrollTo({ top: element.scrollHeight }));
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [isAtEnd]);
  // what changes is what makes the log longer
  useLayoutEffect(() => {
    if (isAtEnd) log.current?.scrollTo({ top: log.current.scrollHeight });
  }, [...changes, isAtEnd]);
  return { log, isAtEnd, toEnd };
}
