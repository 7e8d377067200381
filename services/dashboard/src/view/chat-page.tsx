import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { ChatSession, ChatState } from '../chat/chat-session.ts';
import type { Files } from '../chat/files.ts';
import type { Upload } from '../chat/outbox.ts';
import type { PickedFiles } from '../chat/picked-files.ts';
import { Composer } from './composer.tsx';
import { LinkBar, LinkEnded } from './link-bar.tsx';
import { MessageLog } from './message-log.tsx';
import { QuestionCard } from './question-card.tsx';
import { useDrop } from './use-drop.ts';

export interface ChatPageProps {
  readonly session: ChatSession;
  readonly files: Files;
  readonly picked: PickedFiles;
  readonly title: string;
}

/** The whole page: who it is with, what was said, what is asked, and where one writes. */
export function ChatPage({ session, files, picked, title }: ChatPageProps) {
  const state = useSyncExternalStore(session.subscribe, session.state);
  return (
    <div className="page">
      <header className="top">
        <h1>{title}</h1>
        <LinkBar link={state.link} />
      </header>
      {state.link === 'ended' ? (
        <LinkEnded fault={state.fault} />
      ) : (
        <Chat state={state} session={session} files={files} picked={picked} />
      )}
    </div>
  );
}

interface ChatProps extends Omit<ChatPageProps, 'title'> {
  readonly state: ChatState;
}

function Chat({ state, session, files, picked }: ChatProps) {
  const composer = useRef<HTMLTextAreaElement>(null);
  const { question } = state;
  const isBusy = state.isRunning || question !== null || state.outgoing.some(({ isAccepted }) => isAccepted);
  const answer = (text: string) => {
    if (question !== null) session.answer(question.inputId, text);
    composer.current?.focus();
  };
  const { isOver, handlers } = useDrop((dropped) => {
    picked.add(dropped);
    composer.current?.focus();
  });
  useEffect(() => {
    if (state.link === 'online') picked.retry();
  }, [state.link, picked]);
  return (
    <div className="chat" {...handlers}>
      <MessageLog state={state} session={session} files={files} />
      <Announcer isBusy={isBusy && question === null} />
      {question !== null && (
        <QuestionCard
          question={question}
          answered={state.answered}
          isOnline={state.link === 'online'}
          onAnswer={answer}
        />
      )}
      {state.alert !== null && (
        <p className="alert" role="alert">
          {state.alert}
        </p>
      )}
      <Composer
        field={composer}
        files={picked}
        isBusy={isBusy}
        asked={question !== null && state.answered === null ? question.prompt : null}
        onSend={(text, uploads) => {
          if (isAnswer(state, text, uploads)) answer(text);
          else session.send(text, uploads);
        }}
        onStop={() => {
          session.stop();
          composer.current?.focus();
        }}
      />
      {isOver && <p className="drop">Drop the files to attach them</p>}
    </div>
  );
}

/** To an open question one writes its answer; commands, and what brings files, are messages. */
function isAnswer({ question, answered }: ChatState, text: string, uploads: readonly Upload[]): boolean {
  return question !== null && answered === null && uploads.length === 0 && !text.startsWith('/');
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
