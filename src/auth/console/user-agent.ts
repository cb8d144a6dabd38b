/** Names of browsers and systems, by what `User-Agent` contains. The first match counts. */
const BROWSERS = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/(?:Chrome|Chromium|CriOS)\//, 'Chromium'],
  [/\bSafari\//, 'Safari'],
] as const
const SYSTEMS = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac(?:intosh| OS X)\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const

/**
 * Returns a name for the token of a console, such as "Console, Chromium on Linux".
 *
 * It contains nothing of the header itself, which any program can choose.
 * @see RFC 9110 section 10.1.5
 */
export function consoleName(userAgent = ''): string {
  const [browser, system] = [BROWSERS, SYSTEMS].map(
    (names) => names.find(([pattern]) => pattern.test(userAgent))?.[1],
  )
  return `Console, ${browser ?? 'unknown browser'}${system === undefined ? '' : ` on ${system}`}`
}
