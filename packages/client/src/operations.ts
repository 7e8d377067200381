/** Names for what the API's document says of each operation. */
import type { operations } from './generated/api.ts';

export type OperationId = keyof operations;

type Json = { content: { 'application/json': unknown } };

/** What an operation takes as its body. */
export type BodyOf<Id extends OperationId> = operations[Id] extends { requestBody: Json }
  ? operations[Id]['requestBody']['content']['application/json']
  : never;

type Responses<Id extends OperationId> = operations[Id]['responses'];

/** What an operation answers when it succeeds. */
export type AnswerOf<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: Responses<Id>[Status] extends Json
    ? Responses<Id>[Status]['content']['application/json']
    : never;
}[keyof Responses<Id>];

/** What an operation takes as its query. Numbers and lists may be given as such. */
export type QueryOf<Id extends OperationId> = {
  readonly [Name in keyof Parameters<Id>]: Given<Parameters<Id>[Name]>;
};

type Parameters<Id extends OperationId> = Exclude<operations[Id]['parameters']['query'], undefined>;

type Given<Value> = Value extends string
  ? string extends Value
    ? string | number | readonly string[]
    : Value extends 'true' | 'false'
      ? Value | boolean
      : Value
  : Value;
