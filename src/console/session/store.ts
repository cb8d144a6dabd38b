/**
 * Where a tab stores its session: the key in IndexedDB, because only that stores keys that cannot
 * be exported, and the token in the session storage of the tab. Another page of this origin, for
 * example one of a program that used the port before, can read the first but not the second.
 */

/** A session as the daemon returned it. */
export interface StoredSession {
  /** The id of the token. */
  readonly id: string
  readonly token: string
  readonly scope: 'read' | 'write' | 'full'
  /** When the scope `full` becomes `write`, by the clock of the daemon; null if it does not. */
  readonly fullUntil: string | null
  /** How far the clock of the daemon is ahead of this browser's, in milliseconds. */
  readonly ahead: number
}

const DATABASE = 'countersign-console'
const KEYS = 'keys'
const SESSION = 'countersign-session'

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error as DOMException)
  })

/** Runs one request on the store of keys. */
async function onKeys<T>(
  mode: IDBTransactionMode,
  work: (keys: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opening = indexedDB.open(DATABASE, 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore(KEYS)
  const database = await settled(opening)
  try {
    return await settled(work(database.transaction(KEYS, mode).objectStore(KEYS)))
  } finally {
    database.close()
  }
}

/** Stores the session of this tab. Replaces an earlier one. */
export async function storeTabSession(session: StoredSession, key: CryptoKeyPair): Promise<void> {
  await onKeys('readwrite', (keys) => keys.put(key, session.id))
  sessionStorage.setItem(SESSION, JSON.stringify(session))
}

/** Returns the stored session of this tab with its key; null if there is none. */
export async function storedSession(): Promise<{
  readonly session: StoredSession
  readonly key: CryptoKeyPair
} | null> {
  const text = sessionStorage.getItem(SESSION)
  if (text === null) return null
  const session = JSON.parse(text) as StoredSession
  const key: unknown = await onKeys('readonly', (keys) => keys.get(session.id))
  return key === undefined ? null : { session, key: key as CryptoKeyPair }
}

/** Deletes the session of this tab with its key. */
export async function deleteStoredSession(): Promise<void> {
  const text = sessionStorage.getItem(SESSION)
  sessionStorage.removeItem(SESSION)
  if (text === null) return
  const { id } = JSON.parse(text) as StoredSession
  await onKeys('readwrite', (keys) => keys.delete(id))
}
