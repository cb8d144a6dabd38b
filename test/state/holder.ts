/**
 * `node holder.ts FOLDER`: acquires the lock, reports that on standard output, and keeps the
 * lock.
 */
import { lockState } from '../../src/storage/lock.ts'

const lock = lockState(process.argv[2] ?? '')
console.log(lock === null ? 'refused' : 'held')
setInterval(() => lock, 1000)
