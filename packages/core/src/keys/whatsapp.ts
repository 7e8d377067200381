/** Which LID and which phone number are the same person: `forward` LID → id, `reverse` id → LID, as the platform writes them. */
export interface LidMap {
  readonly forward: Readonly<Record<string, string>>;
  readonly reverse: Readonly<Record<string, string>>;
}

/** Ids with other characters are never looked up. */
const FOLLOWABLE = /^[A-Za-z0-9@.+-]+$/;
const PHONE_LIKE = /^\+?[\d\s().-]+$/;
/** E.164 numbers have at most 15 digits; a longer one names a group. */
const PHONE_DIGITS_MAX = 15;

/** The bare id: without the first plus sign, device part and domain. */
export function normalizeWhatsapp(value: string | null): string {
  const [withoutDevice = ''] = (value ?? '').trim().replace('+', '').split(':');
  const [bare = ''] = withoutDevice.split('@');
  return bare;
}

/**
 * One name for a person under all aliases known: the shortest, ties by text order, so that it does not matter under
 * which of them a message came. Without an alias the normalised value.
 */
export function canonicalWhatsapp(value: string, lidMap: LidMap): string {
  const normalized = normalizeWhatsapp(value);
  const aliases = new Set<string>();
  const open = [normalized];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (aliases.has(id) || !FOLLOWABLE.test(id)) continue;
    aliases.add(id);
    for (const map of [lidMap.forward, lidMap.reverse]) {
      const mapped = Object.hasOwn(map, id) ? map[id] : undefined;
      if (mapped !== undefined) open.push(normalizeWhatsapp(mapped));
    }
  }
  const [canonical = normalized] = [...aliases].sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return canonical;
}

/** The address to send to: a bare number gets its domain, an address loses only its device part, other text stays. */
export function whatsappJid(value: string): string {
  const target = value.trim();
  const at = target.indexOf('@');
  if (at >= 0) {
    const [user = ''] = target.slice(0, at).split(':');
    return user + target.slice(at);
  }
  const digits = target.replace(/\D/g, '');
  if (!PHONE_LIKE.test(target) || digits === '') return target;
  return `${digits}@${digits.length > PHONE_DIGITS_MAX ? 'g.us' : 's.whatsapp.net'}`;
}
