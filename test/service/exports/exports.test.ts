/** Exports on both engines. */
import { onBothEngines } from '../engines.ts'
import { exportsBuildingSuite } from './exports-building.suite.ts'
import { exportsSuite } from './exports.suite.ts'

onBothEngines((name, engine) => {
  exportsSuite(name, engine)
  exportsBuildingSuite(name, engine)
})
