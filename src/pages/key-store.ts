/**
 * Where the code key outlives a reload: IndexedDB, as a CryptoKey that is not extractable, by guest
 * code id. Nothing that a script, a cookie jar or a copy of storage could spell the secret from. A
 * browser that refuses storage costs the convenience only, so nothing here throws.
 */

const STORE = 'code-keys'

/** Keeps a key; answers whether the browser did. */
export async function keep(id: string, key: CryptoKey): Promise<boolean> {
  const kept = await run('readwrite', (store) => store.put(key, id))
  return kept !== null
}

/** The key kept for this guest code, or null. */
export async function recall(id: string): Promise<CryptoKey | null> {
  const key = await run('readonly', (store) => store.get(id))
  return key instanceof CryptoKey && !key.extractable ? key : null
}

/** Removes the key of this guest code. */
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

/** Only the end of the transaction says that it is kept. */
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
