/** Pins the release key in a variable, for a program that is started with `--import` of this. */
import type { ReleaseKey } from '../../src/releases/release-key.ts'
import { pinReleaseKey } from './pinned-key.ts'

pinReleaseKey(JSON.parse(process.env['TEST_RELEASE_KEY'] ?? '') as ReleaseKey)
