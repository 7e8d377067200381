/** Bodies of configuration, right and wrong. */
export const HOOK = {
  channel: 'webhook',
  options: { verify: 'hmac-sha256-header', header: 'X-Hub-Signature-256', prefix: 'sha256=', idHeader: 'x-id' },
  secrets: { secret: 'hook-secret-1' },
};
export const ECHO = { name: 'main', runtime: 'echo' };
const GPT = { name: 'gpt', runtime: 'openai', openai: { baseUrl: 'http://127.0.0.1:9/v1', model: 'm' } };

/** What a PUT of a tenant refuses: the part that is wrong, the answer, the place, and a word of the sentence. */
export const CONFIG_FAULTS: { what: string; part: object; answer: string; at: string; detail?: string }[] = [
  {
    what: 'an unknown field',
    part: { limits: { turnSlot: 1 } },
    answer: '400 unknown_field',
    at: '/limits/turnSlot',
  },
  {
    what: 'a wrong type',
    part: { agents: [{ ...ECHO, echo: { delayMs: 'x' } }] },
    answer: '400 invalid_field',
    at: '/agents/0/echo/delayMs',
  },
  {
    what: 'a busy mode that is not there yet',
    part: { agents: [{ ...ECHO, busy: { mode: 'collect' } }] },
    answer: '400 invalid_field',
    at: '/agents/0/busy/mode',
  },
  {
    what: 'a missing name',
    part: { agents: [{ runtime: 'echo' }] },
    answer: '400 missing_field',
    at: '/agents/0/name',
  },
  {
    what: 'the reserved name',
    part: { agents: [{ ...ECHO, name: 'default' }] },
    answer: '400 invalid_field',
    at: '/agents/0/name',
  },
  {
    what: 'a model without its block',
    part: { agents: [{ ...ECHO, runtime: 'openai' }] },
    answer: '400 missing_field',
    at: '/agents/0/openai',
  },
  {
    what: 'an agent that is nowhere',
    part: { accounts: [{ name: 'x', agent: 'nobody', ...HOOK }] },
    answer: '422 config_invalid',
    at: '/accounts/0/agent',
  },
  {
    what: 'a channel that is nowhere',
    part: { accounts: [{ name: 'x', channel: 'pigeon' }] },
    answer: '422 config_invalid',
    at: '/accounts/0/channel',
  },
  {
    what: 'an option of no channel',
    part: { accounts: [{ name: 'x', ...HOOK, options: { verify: 'standard-webhooks', colour: 1 } }] },
    answer: '422 config_invalid',
    at: '/accounts/0/options/colour',
  },
  {
    what: 'a webhook without its secret',
    part: { accounts: [{ name: 'x', ...HOOK, secrets: {} }] },
    answer: '422 config_invalid',
    at: '/accounts/0/secrets/secret',
  },
  {
    what: 'a key of neither preset nor scopes',
    part: { keys: [{ name: 'k' }] },
    answer: '422 config_invalid',
    at: '/keys/0/preset',
  },
  {
    what: 'a token that is none',
    part: { keys: [{ name: 'k', preset: 'owner', secret: 'tk_x_y' }] },
    answer: '400 invalid_field',
    at: '/keys/0/secret',
  },
  {
    what: 'a burst without a rate',
    part: { limits: { burst: 5 } },
    answer: '422 config_invalid',
    at: '/limits/burst',
  },
  {
    what: 'a password in the address of a model',
    part: { agents: [{ ...GPT, openai: { ...GPT.openai, baseUrl: 'http://u:p@127.0.0.1:9/v1' } }] },
    answer: '422 config_invalid',
    at: '/agents/0/openai/baseUrl',
    detail: 'use apiKey or secrets',
  },
  {
    what: 'a password in the address for replies',
    part: { agents: [ECHO], accounts: [{ name: 'x', ...HOOK, options: { replyUrl: 'http://u:p@127.0.0.1:9/' } }] },
    answer: '422 config_invalid',
    at: '/accounts/0/options/replyUrl',
    detail: 'replySecret',
  },
  ...['sk-1\n', 'sk 1 ', 'ключ', 'a\u0000b'].map((apiKey) => ({
    what: `the API key ${JSON.stringify(apiKey)}, which is no header`,
    part: { agents: [{ ...GPT, openai: { ...GPT.openai, apiKey } }] },
    answer: '422 config_invalid',
    at: '/agents/0/openai/apiKey',
    detail: 'visible ASCII',
  })),
  ...[
    { list: 'agents', parts: [ECHO, { ...ECHO, name: 'b' }, ECHO], at: '/agents/2/name' },
    {
      list: 'accounts',
      parts: [
        { name: 'x', ...HOOK },
        { name: 'x', ...HOOK },
      ],
      at: '/accounts/1/name',
    },
    {
      list: 'keys',
      parts: [
        { name: 'k', preset: 'owner' },
        { name: 'k', preset: 'sender' },
      ],
      at: '/keys/1/name',
    },
  ].map(({ list, parts, at }) => ({
    what: `two ${list} of one name`,
    part: { [list]: parts },
    answer: '422 config_invalid',
    at,
    detail: 'this name stands twice',
  })),
  { what: 'a time zone of no map', part: { timeZone: 'Mars/Olympus' }, answer: '400 invalid_field', at: '/timeZone' },
  { what: 'another name than the path', part: { name: 'other' }, answer: '400 invalid_field', at: '/name' },
];
