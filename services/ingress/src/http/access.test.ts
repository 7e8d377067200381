import { describe, expect, it } from 'vitest';
import { TestPorts, TOKEN, tokenOf } from './test-ports.ts';

async function read(ports: TestPorts, authorization: string | undefined, url = '/v1/runs') {
  const headers = authorization === undefined ? {} : { authorization };
  const answer = await ports.app().inject({ method: 'GET', url, headers });
  return { status: answer.statusCode, code: answer.json().code, headers: answer.headers };
}

describe('a request is let in by a key', () => {
  it('that is right', async () => {
    expect(await read(new TestPorts(), `Bearer ${TOKEN}`)).toMatchObject({ status: 200 });
  });

  it.each([
    ['missing', undefined],
    ['of another scheme', `Basic ${TOKEN}`],
    ['without form', 'Bearer nonsense'],
    ['unknown', `Bearer ${tokenOf('nobodyskey')}`],
    ['with another secret', `Bearer ${TOKEN.slice(0, -1)}T`],
    ['of an operator', `Bearer ${TOKEN.replace('tk_', 'tkop_')}`],
  ])('but not by one that is %s', async (_name, authorization) => {
    const answer = await read(new TestPorts(), authorization);
    expect(answer).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  it('but not by one whose time is over, or that was revoked', async () => {
    const ports = new TestPorts();
    ports.addKey('expiredkey', { expiresAt: new Date(Date.now() - 1000) });
    ports.addKey('revokedkey', { revokedAt: new Date() });
    ports.addKey('futurekey', { expiresAt: new Date(Date.now() + 60_000) });
    expect(await read(ports, `Bearer ${tokenOf('expiredkey')}`)).toMatchObject({ status: 401, code: 'key_expired' });
    expect(await read(ports, `Bearer ${tokenOf('revokedkey')}`)).toMatchObject({ status: 401, code: 'key_revoked' });
    expect(await read(ports, `Bearer ${tokenOf('futurekey')}`)).toMatchObject({ status: 200 });
  });

  it('does not tell whose key was revoked to one who only knows its id', async () => {
    const ports = new TestPorts();
    ports.addKey('revokedkey', { revokedAt: new Date() });
    const guessed = `Bearer ${tokenOf('revokedkey').slice(0, -1)}T`;
    expect(await read(ports, guessed)).toMatchObject({ code: 'unauthenticated' });
  });

  it('that has the scope of the call', async () => {
    const ports = new TestPorts();
    ports.addKey('senderkey', { scopes: ['messages:write'] });
    expect(await read(ports, `Bearer ${tokenOf('senderkey')}`)).toMatchObject({ status: 403, code: 'scope_missing' });
  });

  it('whose tenant is active', async () => {
    const ports = new TestPorts();
    ports.setTenant({ status: 'suspended' });
    expect(await read(ports, `Bearer ${TOKEN}`)).toMatchObject({ status: 403, code: 'tenant_suspended' });
  });

  it('and is remembered by what is stored now, not by what was', async () => {
    const ports = new TestPorts();
    const app = ports.app();
    const get = () => app.inject({ method: 'GET', url: '/v1/runs', headers: { authorization: `Bearer ${TOKEN}` } });
    expect((await get()).statusCode).toBe(200);
    ports.addKey('ownerkey', { hash: new Uint8Array(32) });
    expect((await get()).statusCode).toBe(401);
  });

  it('before its body is read', async () => {
    const app = new TestPorts().app();
    const headers = { 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url: '/v1/messages', headers, payload: '{' });
    expect(answer.json().code).toBe('unauthenticated');
  });
});

describe('a client token', () => {
  it('opens nothing that only keys may do, and its holder is told that the scope is missing', async () => {
    const ports = new TestPorts();
    const token = await ports.clientToken({ sub: 'ann' });
    expect(await read(ports, `Bearer ${token}`)).toMatchObject({ status: 403, code: 'scope_missing' });
  });

  it('that has expired is told apart from one that is none', async () => {
    const ports = new TestPorts();
    const old = await ports.clientToken({ sub: 'ann', expiresAtMs: Date.now() - 1000 });
    expect(await read(ports, `Bearer ${old}`)).toMatchObject({ status: 401, code: 'token_expired' });
    const changed = `${old.slice(0, -4)}AAAA`;
    expect(await read(ports, `Bearer ${changed}`)).toMatchObject({ status: 401, code: 'unauthenticated' });
  });

  it('of a suspended tenant is refused', async () => {
    const ports = new TestPorts();
    const token = await ports.clientToken({ sub: 'ann' });
    ports.setTenant({ status: 'suspended' });
    expect(await read(ports, `Bearer ${token}`)).toMatchObject({ status: 403, code: 'tenant_suspended' });
  });
});
