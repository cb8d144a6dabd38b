/** `node holder.ts FOLDER`: takes the lock, says so, and keeps it. */
import { lockState } from '../../src/storage/lock.ts'

const lock = lockState(process.argv[2] ?? '')
console.log(lock === null ? 'refused' : 'held')
setInterval(() => lock, 1000)
