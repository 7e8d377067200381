/**
 * Wraps the data keys of tenants with the server's own key: from a file or the environment, or inside a KMS.
 * @throws AppError `secret_unresolved` when the wrapped key was made with another server key
 */
export interface KeyWrap {
  wrap(dataKey: Uint8Array): Promise<Uint8Array>;
  unwrap(wrapped: Uint8Array): Promise<Uint8Array>;
}
