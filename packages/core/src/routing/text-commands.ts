/**
 * What follows a trigger, trimmed; null when the text is no such command. A trigger is the whole text or is followed by a
 * space, in any case; only of a sender who may command.
 */
export function afterTrigger(text: string, authorized: boolean, triggers: readonly string[]): string | null {
  if (!authorized) return null;
  const [, word = '', rest = ''] = /^\s*(\S+)([\s\S]*)$/.exec(text) ?? [];
  return triggers.some((trigger) => trigger.toLowerCase() === word.toLowerCase()) ? rest.trim() : null;
}
