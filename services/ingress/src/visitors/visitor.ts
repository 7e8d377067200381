import {
  type AccountConfig,
  type AgentConfig,
  type LaneRef,
  OWN_ROOM,
  type Source,
  type TenantConfig,
  webChatSource,
} from '@turnkeeper/core';

/** Who holds a client token: somebody in front of a page of the tenant. */
export interface Visitor {
  readonly kind: 'visitor';
  readonly tenant: TenantConfig;
  readonly agent: AgentConfig;
  /** Null: the tenant has no web chat account for this agent; replies are then owed through none. */
  readonly account: AccountConfig | null;
  readonly sub: string;
  readonly name: string | null;
  /** What it may see and speak in; any other room is a missing one. */
  readonly rooms: readonly string[];
  readonly expiresAtMs: number;
}

export interface Room {
  readonly room: string;
  readonly sessionKey: string;
  readonly source: Source;
}

/** A room of this visitor; null for any other, so that foreign and missing rooms are alike. @throws AppError `malformed_key` */
export function roomOf(visitor: Visitor, room: string): Room | null {
  if (!visitor.rooms.includes(room)) return null;
  const { sub, name, agent, account } = visitor;
  return { room, ...webChatSource({ room, sub, name, agent, accountName: account?.name ?? null }) };
}

/**
 * Whose own work alone this visitor may end in a room (`ControlRequest.onlyOf`): his, but in the room that is named after him
 * anybody's: what the tenant's programs say there, they say to him.
 */
export function ownWorkIn({ sub }: Visitor, room: Room | null): { readonly onlyOf?: string } {
  return room?.room === `${OWN_ROOM}${sub}` ? {} : { onlyOf: sub };
}

/** All rooms of this visitor. */
export function roomsOf(visitor: Visitor): readonly Room[] {
  return visitor.rooms.flatMap((room) => roomOf(visitor, room) ?? []);
}

/** The visitor's room that is this conversation of its agent; null: none is. */
export function roomWith(visitor: Visitor, sessionKey: string): Room | null {
  return roomsOf(visitor).find((room) => room.sessionKey === sessionKey) ?? null;
}

/** True when the conversation is one of the visitor's rooms. */
export function maySee(
  visitor: Visitor,
  session: { readonly lane: Pick<LaneRef, 'tenantId'>; readonly agentId: string; readonly sessionKey: string },
): boolean {
  const isOfAgent = session.lane.tenantId === visitor.tenant.tenantId && session.agentId === visitor.agent.agentId;
  return isOfAgent && roomWith(visitor, session.sessionKey) !== null;
}
