/**
 * Reads a ZIP as another program does: its files by name, as text, each checked against its
 * CRC-32.
 */
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { crc32 } from 'node:zlib'
import { type ZipFile, fromBuffer } from 'yauzl'

/** @throws for bytes that are not a complete ZIP */
export async function unzip(bytes: Uint8Array): Promise<Map<string, string>> {
  const zip = await new Promise<ZipFile>((resolve, reject) =>
    fromBuffer(Buffer.from(bytes), { lazyEntries: true }, (error, file) =>
      error === null ? resolve(file) : reject(error),
    ),
  )
  const files = new Map<string, string>()
  return new Promise((resolve, reject) => {
    zip.on('error', reject)
    zip.on('end', () => resolve(files))
    zip.on('entry', (entry) =>
      zip.openReadStream(entry, (error, stream) => {
        if (error !== null) {
          reject(error)
          return
        }
        void text(stream).then((content) => {
          assert.equal(crc32(content), entry.crc32, entry.fileName)
          assert.ok(!files.has(entry.fileName), entry.fileName)
          files.set(entry.fileName, content)
          zip.readEntry()
        }, reject)
      }),
    )
    zip.readEntry()
  })
}
