/**
 * Keeps the code key over a reload: IndexedDB, as a CryptoKey that is not extractable, by guest
 * code id. No script, cookie or copy of the storage can reveal the secret. If the browser refuses
 * storage, only the reload does not work, so no function here throws.
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
