import { describe, expect, it } from 'vitest';
import { webhook } from './webhook.ts';

const hub = { verify: 'hmac-sha256-header', header: 'X-Hub-Signature-256' };

function check(options: unknown, secrets: Record<string, string> = { secret: 's' }, keptSecrets: string[] = []) {
  return webhook.checkAccount({ options, secrets, keptSecrets });
}

function faults(...draft: Parameters<typeof check>): unknown {
  try {
    return check(...draft);
  } catch (error) {
    expect(error).toMatchObject({ code: 'config_invalid' });
    return (error as { fields: { pointer: string; code: string }[] }).fields.map(
      ({ pointer, code }) => `${pointer} ${code}`,
    );
  }
}

describe('options', () => {
  it('fill in what is left out', () => {
    const standard = { verify: 'standard-webhooks', toleranceSec: 300, template: '{{text}}' };
    expect(check({})).toEqual(standard);
    expect(check(undefined)).toEqual(standard);
    expect(check(hub)).toEqual({ ...hub, header: 'x-hub-signature-256', prefix: '', template: '{{text}}' });
  });

  it('take a ledger that is on or off, in the words of people, and no other', () => {
    expect(check({ ledger: false })).toMatchObject({ ledger: false });
    expect(check({ ledger: 'off' })).toMatchObject({ ledger: 'off' });
    expect(faults({ ledger: 'offf' })).toEqual(['/options/ledger invalid_field']);
  });

  it('stay as they are when checked again', () => {
    const once = check({ ...hub, prefix: 'sha256=', idHeader: 'X-Id', replyUrl: 'http://127.0.0.1:9/in' });
    expect(check(once)).toEqual(once);
  });

  it.each([
    [{ verify: 'md5' }, ['/options/verify invalid_field']],
    [{ verify: 'hmac-sha256-header' }, ['/options/header missing_field']],
    [{ ...hub, header: 'two words' }, ['/options/header invalid_field']],
    [{ header: 'x' }, ['/options/header unknown_field']],
    [{ ...hub, toleranceSec: 1 }, ['/options/toleranceSec unknown_field']],
    [{ toleranceSec: 0 }, ['/options/toleranceSec invalid_field']],
    [{ replyUrl: 'ftp://x/y' }, ['/options/replyUrl invalid_field']],
    [{ template: '', replyUrl: 7 }, ['/options/template invalid_field', '/options/replyUrl invalid_field']],
    [['list'], ['/options invalid_field']],
  ])('%j are refused by name', (options, expected) => {
    expect(faults(options)).toEqual(expected);
  });
});

describe('secrets', () => {
  it('need the one that senders sign with, now or from before', () => {
    expect(faults({}, {})).toEqual(['/secrets/secret missing_field']);
    expect(faults({}, {}, ['secret'])).toMatchObject({ verify: 'standard-webhooks' });
  });

  it('are refused when nobody knows them or they are no base64', () => {
    expect(faults({}, { secret: 's', token: 'x' })).toEqual(['/secrets/token unknown_field']);
    expect(faults({}, { secret: 'whsec_???' })).toEqual(['/secrets/secret invalid_field']);
    expect(faults({}, { secret: 's', replySecret: 'whsec_' })).toEqual(['/secrets/replySecret invalid_field']);
  });
});
