import { lowerComponent } from './escape.ts';

export interface InboundRoom {
  readonly key: string;
  readonly channel: string;
  readonly id: string;
  readonly topicId: string | null;
  readonly chatType: 'group' | 'channel';
}

export interface InboundSender {
  /** The sender as its channel writes it: `telegram:group:-100:topic:42`, `1203@g.us`. */
  readonly from: string;
  readonly provider: string | null;
  readonly chatType: 'direct' | 'group' | 'channel' | null;
}

/** First segments that name a channel even when nothing else says so. */
const CHANNELS = new Set([
  ...['discord', 'feishu', 'googlechat', 'imessage', 'irc', 'line', 'matrix', 'mattermost', 'msteams', 'nostr'],
  ...['signal', 'slack', 'telegram', 'webchat', 'whatsapp', 'zalo'],
]);

/** The room that an inbound sender text names; null when it is none, or nothing says of which channel. */
export function roomFromInbound({ from, provider, chatType }: InboundSender): InboundRoom | null {
  const text = from.trim();
  const isWhatsappGroup = text.toLowerCase().endsWith('@g.us');
  const saysRoom = /:(group|channel):/.test(text) || isWhatsappGroup;
  if (!saysRoom && chatType !== 'group' && chatType !== 'channel') return null;

  const { head, kind, id } = splitSender(text, provider);
  const channel = head ?? (lowerComponent(provider) || (isWhatsappGroup ? 'whatsapp' : ''));
  const [, roomId = id, topicId = null] = /^(.+):topic:([^:]+)$/.exec(id) ?? [];
  if (channel === '' || roomId === '') return null;

  const type = kind ?? (text.includes(':channel:') || chatType === 'channel' ? 'channel' : 'group');
  const topic = topicId === null ? '' : `:topic:${lowerComponent(topicId)}`;
  return { key: `${channel}:${type}:${lowerComponent(roomId)}${topic}`, channel, id: roomId, topicId, chatType: type };
}

/** Takes `<channel>:` and `<kind>:` off the front where they are there. */
function splitSender(
  text: string,
  provider: string | null,
): { head: string | null; kind: InboundRoom['chatType'] | null; id: string } {
  const segments = text
    .toLowerCase()
    .split(':')
    .filter((segment) => segment !== '');
  const [first = '', second] = segments;
  const kind = second === 'group' || second === 'channel' ? second : null;
  const isChannel = kind !== null || CHANNELS.has(first) || first === provider?.trim().toLowerCase();
  if (!isChannel) return { head: null, kind: null, id: text.toLowerCase() };
  return { head: first, kind, id: segments.slice(kind === null ? 1 : 2).join(':') };
}
