/** Per op a function that renames the fields of an input and calls what the services call. */
export type Adapters = Readonly<Record<string, (input: never) => unknown>>;
