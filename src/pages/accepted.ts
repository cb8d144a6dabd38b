/**
 * The windows in which this tab has accepted the caller's words: each proves once (section 2,
 * Replay). In sessionStorage, so that a reload does not forget; window numbers are no secret.
 */

/** Words of a window are acceptable for one window more; older entries say nothing. */
const KEEP = 4

/** The memory for one guest code: takes a window and answers whether it was new. */
export function acceptedWindows(id: string): (window: number) => boolean {
  const name = `accepted ${id}`
  let seen = read(name)
  return (window) => {
    if (seen.includes(window)) return false
    seen = [...seen, window].slice(-KEEP)
    try {
      sessionStorage.setItem(name, JSON.stringify(seen))
    } catch {
      // Without storage the memory lasts as long as the page.
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
