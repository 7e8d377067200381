/** Options of a webhook account whose messages are signed and known by an id, as those of GitHub are. */
export const SIGNED_WEBHOOK = {
  verify: 'hmac-sha256-header',
  header: 'x-hub-signature-256',
  prefix: 'sha256=',
  idHeader: 'x-github-delivery',
  template: '{{text}}',
} as const;
