/**
 * What the page of a guest code needs after a reload: the code key, in IndexedDB, and the windows
 * in which the tab accepted the caller's words, in sessionStorage. The key is stored by guest code
 * id as a CryptoKey that is not extractable, so no script, cookie or copy of the storage reveals
 * it. If the browser refuses storage, only the reload does not work, so no function here throws.
 */

const STORE = 'code-keys'

/** Stores a key; returns whether the browser stored it. */
export async function keep(id: string, key: CryptoKey): Promise<boolean> {
  const kept = await run('readwrite', (store) => store.put(key, id))
  return kept !== null
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

/** Resolves at the end of the transaction, which alone proves that the key is stored. */
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

/** Words of a window are acceptable for one more window; older entries have no use. */
const KEEP = 4

/**
 * Returns a function that records a window of one guest code and returns whether it was new. Each
 * window proves once (section 2, Replay). Window numbers are no secret.
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
      // Without storage the record lasts as long as the page.
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
