/**
 * Stores what the page of a guest code needs after a reload. IndexedDB contains the code key, under
 * the guest code id, as a CryptoKey that is not extractable. So no script, cookie or copy of the
 * storage can reveal the secret. The tab's sessionStorage contains the windows in which the page
 * accepted the caller's words. If the browser does not allow storage, only reloading fails, so no
 * function here throws.
 */

const STORE = 'code-keys'

/** Stores a key. Returns whether the browser stored it. */
export async function keep(id: string, key: CryptoKey): Promise<boolean> {
  const stored = await run('readwrite', (store) => store.put(key, id))
  return stored !== null
}

/** Returns the key stored for this guest code; null if there is none. */
export async function recallKey(id: string): Promise<CryptoKey | null> {
  const key = await run('readonly', (store) => store.get(id))
  return key instanceof CryptoKey && !key.extractable ? key : null
}

/** Deletes the key of this guest code. */
export async function forget(id: string): Promise<void> {
  await run('readwrite', (store) => store.delete(id))
}

async function run(
  mode: IDBTransactionMode,
  ask: (store: IDBObjectStore) => IDBRequest,
): Promise<unknown> {
  try {
    const database = await open()
    try {
      return await finished(database.transaction(STORE, mode), ask)
    } finally {
      // An open connection would keep the page out of the back/forward cache.
      database.close()
    }
  } catch {
    return null
  }
}

const open = (): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open('countersign', 1)
    request.addEventListener('upgradeneeded', () => request.result.createObjectStore(STORE))
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error ?? new Error('no storage')))
  })

/** Resolves when the transaction is complete. Only then is the key stored. */
const finished = (
  transaction: IDBTransaction,
  ask: (store: IDBObjectStore) => IDBRequest,
): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const request = ask(transaction.objectStore(STORE))
    const fail = () => reject(transaction.error ?? new Error('no storage'))
    transaction.addEventListener('complete', () => resolve(request.result))
    transaction.addEventListener('error', fail)
    transaction.addEventListener('abort', fail)
  })

/**
 * How many windows are remembered. Words are accepted at most one window late, so older entries are
 * not needed.
 */
const KEEP = 4

/**
 * Returns a function that records a window of one guest code, and returns whether the window was
 * new. Words are accepted only once per window (protocol, section 2, Replay). Window numbers are
 * not secret.
 */
export function acceptedWindows(id: string): (window: number) => boolean {
  const name = `accepted ${id}`
  let seen = read(name)
  return (window) => {
    if (seen.includes(window)) return false
    seen = [...seen, window].slice(-KEEP)
    try {
      sessionStorage.setItem(name, JSON.stringify(seen))
    } catch {
      // If storage is not available, the record lasts only as long as the page.
    }
    return true
  }
}

function read(name: string): number[] {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(name) ?? '[]')
    return Array.isArray(value) ? value.filter((each) => Number.isInteger(each)) : []
  } catch {
    return []
  }
}
