/** Returns the named values of a state, in memory. */
export function newMeta() {
  const rows = new Map<string, unknown>()
  const meta = {
    get: (key: string) => rows.get(key) ?? null,
    set: (key: string, value: unknown) => void rows.set(key, value),
    delete: (key: string) => void rows.delete(key),
  }
  return { rows, meta }
}
