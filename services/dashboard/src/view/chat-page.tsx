import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { ChatSession } from '../chat/chat-session.ts';
import type { Files } from '../chat/files.ts';
import { Composer } from './composer.tsx';
import { LinkBar, LinkEnded } from './link-bar.tsx';
import { MessageLog } from './message-log.tsx';
import { QuestionCard } from './question-card.tsx';

export interface ChatPageProps {
  readonly session: ChatSession;
  readonly files: Files;
  readonly title: string;
}

/** The whole page: who it is with, what was said, what is asked, and where one writes. */
export function ChatPage({ session, files, title }: ChatPageProps) {
  const state = useSyncExternalStore(session.subscribe, session.state);
  const composer = useRef<HTMLTextAreaElement>(null);
  const isBusy = state.isRunning || state.outgoing.some(({ isAccepted }) => isAccepted);
  return (
    <div className="page">
      <header className="top">
        <h1>{title}</h1>
        <LinkBar link={state.link} />
      </header>
      {state.link === 'ended' ? (
        <LinkEnded fault={state.fault} />
      ) : (
        <>
          <MessageLog state={state} session={session} files={files} />
          <Announcer isBusy={isBusy} />
          {state.question !== null && (
            <QuestionCard
              key={`${state.question.inputId}/${state.link}`}
              question={state.question}
              isOnline={state.link === 'online'}
              onAnswer={(inputId, text) => {
                session.answer(inputId, text);
                composer.current?.focus();
              }}
            />
          )}
          {state.alert !== null && (
            <p className="alert" role="alert">
              {state.alert}
            </p>
          )}
          <Composer
            field={composer}
            files={files}
            isBusy={isBusy}
            onSend={(text, uploads) => session.send(text, uploads)}
            onStop={() => session.stop()}
          />
        </>
      )}
    </div>
  );
}

/** For who listens: that something is being written. What was written is read by the log. */
function Announcer({ isBusy }: { readonly isBusy: boolean }) {
  const [text, setText] = useState('');
  useEffect(() => setText(isBusy ? 'The assistant is writing.' : ''), [isBusy]);
  return (
    <p className="only-read" role="status">
      {text}
    </p>
  );
}
