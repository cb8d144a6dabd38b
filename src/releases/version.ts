/** Versions of releases: three numbers. */

const FORM = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/

/** The text in the stamp of a release. It keeps other stamps of the account from being releases. */
const CONTEXT = /^countersignd (\S+)$/

/** Returns whether a text is the version of a release. */
export const isReleaseVersion = (text: string): boolean => FORM.test(text)

/** Returns the context of the stamp of a release. */
export const releaseContext = (version: string): string => `countersignd ${version}`

/** Returns the version in the context of a stamp; null if it is not that of a release. */
export function versionIn(context: string | null): string | null {
  const [, version = ''] = CONTEXT.exec(context ?? '') ?? []
  return isReleaseVersion(version) ? version : null
}

/** Returns a negative number if version `a` is older than version `b`, 0 if they are the same. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [a, b].map((version) => version.split('.').map(BigInt))
  const other = first!.findIndex((number, at) => number !== second![at])
  return other === -1 ? 0 : first![other]! < second![other]! ? -1 : 1
}
