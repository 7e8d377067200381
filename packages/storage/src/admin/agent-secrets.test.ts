import { completeAgent } from '@turnkeeper/core';
import { describe, expect, it } from 'vitest';
import { agentSecrets } from './agent-secrets.ts';

const at = (baseUrl: string) => completeAgent({ runtime: 'openai', openai: { baseUrl, model: 'm' } });
const before = { config: at('https://a.example/v1'), secrets: { apiKey: 'sk-1' } };
const refusal = expect.objectContaining({
  code: 'config_invalid',
  fields: [expect.objectContaining({ pointer: '/openai/apiKey' })],
});

describe('the key of a model', () => {
  it('stays when it is not given again, for the server that it was given for', () => {
    expect(agentSecrets({ settings: at('https://a.example/v2'), secrets: {} }, before)).toEqual({ apiKey: 'sk-1' });
  });

  it.each(['https://b.example/v1', 'http://a.example/v1', 'https://a.example:8443/v1', 'https://a.example.evil/v1'])(
    'is never sent to another one (%s)',
    (elsewhere) => {
      expect(() => agentSecrets({ settings: at(elsewhere), secrets: {} }, before)).toThrow(refusal);
      const given = agentSecrets({ settings: at(elsewhere), secrets: { apiKey: 'sk-2' } }, before);
      expect(given).toEqual({ apiKey: 'sk-2' });
    },
  );

  it('is not asked for where there was none', () => {
    const settings = at('https://b.example/v1');
    expect(agentSecrets({ settings, secrets: {} }, { ...before, secrets: {} })).toEqual({});
    expect(agentSecrets({ settings, secrets: {} }, null)).toEqual({});
  });

  it('is gone with the model', () => {
    expect(agentSecrets({ settings: completeAgent({ runtime: 'echo' }), secrets: {} }, before)).toEqual({});
  });
});
