import { useId, useState } from 'react';
import type { Question } from '../chat/conversation.ts';

/** What the assistant asks, with its answers as buttons or a field. */
export function QuestionCard({
  question,
  isOnline,
  onAnswer,
}: {
  readonly question: Question;
  readonly isOnline: boolean;
  readonly onAnswer: (inputId: string, text: string) => void;
}) {
  const { inputId, prompt, options } = question;
  const [text, setText] = useState('');
  const [isSent, setSent] = useState(false);
  const title = useId();
  const answer = (given: string) => {
    setSent(true);
    onAnswer(inputId, given);
  };
  const isOff = isSent || !isOnline;
  return (
    <section className="question" aria-labelledby={title}>
      <h2 id={title}>{prompt || 'The assistant asks you something'}</h2>
      {options.length > 0 ? (
        <div className="answers">
          {options.map((option) => (
            <button key={option} type="button" className="button" disabled={isOff} onClick={() => answer(option)}>
              {option}
            </button>
          ))}
        </div>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim() !== '') answer(text.trim());
          }}
        >
          <input
            aria-labelledby={title}
            value={text}
            disabled={isSent}
            onChange={(event) => setText(event.target.value)}
          />
          <button type="submit" className="button" disabled={isOff || text.trim() === ''}>
            Answer
          </button>
        </form>
      )}
    </section>
  );
}
