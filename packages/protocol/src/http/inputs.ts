/** Questions of turns to people. */
import { z } from 'zod';
import { MessageTextSchema } from './messages.ts';

/** An answer says something: a blank one would be lost on who asked. */
export const AnswerTextSchema = MessageTextSchema.check((context) => {
  if (context.value.trim() !== '') return;
  context.issues.push({ code: 'custom', input: context.value, message: 'an answer says something' });
});

/** `POST /v1/inputs/{id}/answer` */
export const InputAnswerRequestSchema = z.strictObject({ text: AnswerTextSchema });

export const InputAnswerSchema = z.strictObject({ inputId: z.string(), outcome: z.literal('answered') });
export type InputAnswer = z.infer<typeof InputAnswerSchema>;
