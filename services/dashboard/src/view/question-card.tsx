import { useId } from 'react';
import type { Question } from '../chat/conversation.ts';

/** What the assistant asks, with its answers as buttons where it gives some. Any other is written in the field below. */
export function QuestionCard({
  question,
  answered,
  isOnline,
  onAnswer,
}: {
  readonly question: Question;
  /** What was said to it, on its way. */
  readonly answered: string | null;
  readonly isOnline: boolean;
  readonly onAnswer: (text: string) => void;
}) {
  const { prompt, options } = question;
  const title = useId();
  return (
    <section className="question" aria-labelledby={title}>
      <h2 id={title}>{prompt || 'The assistant asks you something'}</h2>
      {answered === null && options.length > 0 && (
        <div className="answers">
          {options.map((option) => (
            <button key={option} type="button" className="button" onClick={() => onAnswer(option)}>
              {option}
            </button>
          ))}
        </div>
      )}
      <p className="hint" role="status">
        {answered === null
          ? options.length > 0
            ? 'Choose, or write another answer below.'
            : 'The assistant waits for you: what you write below is the answer.'
          : `Your answer: ${answered} – ${isOnline ? 'sending…' : 'will be sent when connected'}`}
      </p>
    </section>
  );
}
