/** What changed since a device’s last sync, on both engines. */
import { changesSuite } from './changes.suite.ts'
import { onBothEngines } from '../engines.ts'

onBothEngines(changesSuite)
