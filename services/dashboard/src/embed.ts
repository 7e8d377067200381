/**
 * The script of pages that embed the chat:
 *
 *   <script src="https://<turnkeeper>/chat/embed.js" data-token-url="/chat-token" defer></script>
 *
 * It adds a button that opens the chat in a frame, and gives the frame client tokens that it gets from the page's own
 * server (`data-token-url`, which answers `{"token": "…"}`).
 */
(() => {
  const script = document.currentScript as HTMLScriptElement | null;
  if (script === null) return;
  const { tokenUrl, title = 'Chat', theme, room } = script.dataset;
  const server = new URL(script.src).origin;
  const hash = new URLSearchParams({ embed: location.origin, title });
  if (theme !== undefined) hash.set('theme', theme);
  if (room !== undefined) hash.set('room', room);

  const frame = document.createElement('iframe');
  frame.title = title;
  frame.hidden = true;
  Object.assign(frame.style, {
    ...{ position: 'fixed', right: '20px', bottom: '84px', width: 'min(400px, calc(100vw - 40px))' },
    ...{ height: 'min(640px, calc(100vh - 104px))', border: '0', borderRadius: '16px', zIndex: '2147483000' },
    boxShadow: '0 12px 40px rgb(0 0 0 / 0.25)',
  });

  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = title;
  button.setAttribute('aria-expanded', 'false');
  Object.assign(button.style, {
    ...{ position: 'fixed', right: '20px', bottom: '20px', zIndex: '2147483000', padding: '14px 20px' },
    ...{
      border: '0',
      borderRadius: '28px',
      background: '#3b5bdb',
      color: '#fff',
      font: '600 16px system-ui, sans-serif',
    },
    cursor: 'pointer',
  });
  button.addEventListener('click', () => {
    if (frame.src === '') frame.src = `${server}/chat#${hash}`;
    frame.hidden = !frame.hidden;
    button.setAttribute('aria-expanded', String(!frame.hidden));
    if (!frame.hidden) frame.focus();
  });

  window.addEventListener('message', async ({ source, origin, data }) => {
    if (source !== frame.contentWindow || origin !== server || data?.type !== 'turnkeeper.token-needed') return;
    const answer = tokenUrl === undefined ? null : await fetch(tokenUrl, { method: 'POST' }).catch(() => null);
    // no answer: the chat asks again
    if (answer === null || answer.status >= 500) return;
    const token = answer.ok ? ((await answer.json()) as { token?: unknown }).token : null;
    frame.contentWindow?.postMessage({ type: 'turnkeeper.token', token }, server);
  });

  document.body.append(button, frame);
})();
