import { latestBoundary } from './daily-boundary.ts';

export type ResetMode = 'none' | 'idle' | 'daily' | 'both';

/** When time ends a conversation: after so long a silence, at an hour of the tenant's day, at either, or never. */
export interface ResetPolicy {
  readonly mode: ResetMode;
  /** 0–23, on the wall clock of the tenant. */
  readonly dailyHour: number;
  /** At least 1. */
  readonly idleMinutes: number;
}

/** A policy as it may be written. */
export interface ResetSettings {
  readonly mode: ResetMode;
  readonly dailyHour?: number | undefined;
  readonly idleMinutes?: number | undefined;
}

/** Without a policy time never ends a conversation (design §6). */
const RESET_DEFAULTS: ResetPolicy = { mode: 'none', dailyHour: 4, idleMinutes: 1440 };

interface ResetChoice {
  readonly mode: ResetMode;
  readonly dailyHour?: number | null | undefined;
  readonly idleMinutes?: number | null | undefined;
}

interface ResetChoices {
  readonly reset: ResetChoice | null;
  readonly resetByType: ResetChoice | null;
  readonly resetByChannel: ResetChoice | null;
}

/** The policy that counts: what is said of the channel, else of the kind of chat, else of the agent; whole, never mixed. */
export function chooseResetPolicy({ reset, resetByType, resetByChannel }: ResetChoices): ResetPolicy {
  const { mode, dailyHour, idleMinutes } = resetByChannel ?? resetByType ?? reset ?? RESET_DEFAULTS;
  return {
    mode,
    dailyHour: Math.min(23, Math.max(0, Math.floor(dailyHour ?? RESET_DEFAULTS.dailyHour))),
    idleMinutes: Math.max(1, Math.floor(idleMinutes ?? RESET_DEFAULTS.idleMinutes)),
  };
}

/** What made it due; null = nothing did. */
export type ResetTrigger = 'idle' | 'daily' | 'both' | null;

export interface ResetQuestion {
  readonly policy: ResetPolicy;
  readonly lastActivityAt: Date;
  readonly now: Date;
  /** IANA zone of the tenant. */
  readonly timeZone: string;
}

/** Does the silence before `now` end the conversation? Idle counts exactly its minutes, a day begins at its boundary. */
export function decideReset({ policy, lastActivityAt, now, timeZone }: ResetQuestion): ResetTrigger {
  const { mode, dailyHour, idleMinutes } = policy;
  const [lastMs, nowMs] = [lastActivityAt.getTime(), now.getTime()];
  const idle = (mode === 'idle' || mode === 'both') && nowMs - lastMs >= idleMinutes * 60_000;
  const daily = (mode === 'daily' || mode === 'both') && lastMs < latestBoundary(nowMs, dailyHour, timeZone);
  if (idle && daily) return 'both';
  if (idle) return 'idle';
  return daily ? 'daily' : null;
}
