/** SHA256SUMS: the files of a release with their SHA-256, in the form of sha256sum(1). */
import { DownloadRefusal } from './refusal.ts'

/** SHA-256 (64 hexadecimal digits) by the name of the file. */
export type Sums = ReadonlyMap<string, string>

/** The name is that of a file beside SHA256SUMS: no path, no option, nothing that a shell reads. */
const LINE = /^([0-9a-f]{64}) {2}([A-Za-z0-9][A-Za-z0-9._+~-]*)$/

/**
 * Reads SHA256SUMS. Only its strict form is accepted, so that this program and sha256sum(1) read
 * the same sums.
 * @throws DownloadRefusal `bad_sums`
 */
export function parseSums(content: Uint8Array): Sums {
  const bad = (fault: string) =>
    new DownloadRefusal('bad_sums', `SHA256SUMS cannot be read: ${fault}. Report this.`)
  const lines = Buffer.from(content).toString('latin1').split('\n')
  if (lines.pop() !== '') throw bad('its last line does not end')
  const sums = new Map<string, string>()
  for (const [at, line] of lines.entries()) {
    const [, sum, name] = LINE.exec(line) ?? []
    if (sum === undefined || name === undefined)
      throw bad(`line ${at + 1} is not a sum, two spaces and the name of a file`)
    if (sums.has(name)) throw bad(`it lists ${name} twice`)
    sums.set(name, sum)
  }
  if (sums.size === 0) throw bad('it is empty')
  return sums
}
