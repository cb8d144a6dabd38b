/**
 * Tests whether a backup can be restored, without restoring it.
 *
 * Everything is read, decrypted and checked as by a restore, in a temporary folder that is then
 * deleted. Nothing is sent, and no secret is stored in a keychain: the databases in the temporary
 * folder are useless without the key of their secrets, which only memory has.
 */
import { createReadStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SealedSecrets } from './folder-secrets.ts'
import { openBackup, restoreError, writeWhole } from './restore.ts'

/**
 * Tests a backup.
 * @returns when its data was read, its account, and the secrets that a restore would lose
 * @throws as `restore`, with the reason why the backup cannot be restored
 */
export async function testRestore(
  path: string,
  passphrase: string,
): Promise<SealedSecrets & { readonly created_at: string; readonly account: string | null }> {
  const source = createReadStream(path)
  const dir = mkdtempSync(join(tmpdir(), 'countersign-restore-test-'))
  try {
    const { contents, files } = await openBackup(source, path, passphrase)
    for await (const { name, bytes } of files()) await writeWhole(join(dir, name), bytes)
    // Loaded only here, because these modules load the elliptic curves.
    const { requireCompleteBackup } = await import('./whole-backup.ts')
    const sealed = await requireCompleteBackup(dir, contents, path)
    return { ...sealed, created_at: contents.created_at, account: contents.account }
  } catch (error) {
    throw restoreError(error, path, dir)
  } finally {
    source.destroy()
    rmSync(dir, { recursive: true, force: true })
  }
}
