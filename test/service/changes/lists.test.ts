/** Which lists changed since a device’s last sync, on both engines. */
import { onBothEngines } from '../engines.ts'
import { listsSuite } from './lists.suite.ts'

onBothEngines(listsSuite)
