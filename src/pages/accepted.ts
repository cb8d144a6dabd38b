/**
 * Records the windows in which this tab accepted the caller's words. Each window proves once
 * (section 2, Replay). The record is in sessionStorage, so that it survives a reload. Window
 * numbers are no secret.
 */

/** Words of a window are acceptable for one more window; older entries have no use. */
const KEEP = 4

/** Returns a function that records a window of one guest code and returns whether it was new. */
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
