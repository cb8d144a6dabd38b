/** SQLSTATE of a statement that writes, in a transaction that may only read. */
const READ_ONLY = '25006'
/** SQLSTATE of an unsupported feature, and the function that reports it for an unlogged table. */
const [UNSUPPORTED, UNLOGGED_IN] = ['0A000', 'get_relation_info']

/**
 * Returns whether PostgreSQL refused a statement because it is a standby, which only reads and has
 * no content of unlogged tables. Nothing was executed. A balancer may pass such a connection on
 * shortly after the primary has changed.
 */
export function isOfStandby(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as { code?: string; routine?: string }
  return code === READ_ONLY || (code === UNSUPPORTED && routine === UNLOGGED_IN)
}
